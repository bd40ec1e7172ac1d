package objectserver

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// second is what SeaweedFS adds to a port for its gRPC twin.
const second = 10000

// freePorts returns n ports that are free, each with its twin. They lie below the range from which the system takes ports
// for outgoing connections.
func freePorts(n int) ([]int, error) {
	const lowest, highest = 12000, 22000 // twins up to 32000
	taken := map[int]bool{}
	var ports []int
	for range 10000 {
		p := lowest + rand.IntN(highest-lowest)
		if taken[p] || !free(p) || !free(p+second) {
			continue
		}
		taken[p] = true
		if ports = append(ports, p); len(ports) == n {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("no %d free ports between %d and %d", n, lowest, highest)
}

func free(port int) bool {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	l.Close()
	return true
}
