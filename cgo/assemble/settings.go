package assemble

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/kafkaclient"
)

// fetchWait is how long Kafka waits for a remote read before it drops what was read and has the consumer ask again.
const (
	fetchWait        = "remote.fetch.max.wait.ms"
	fetchWaitDefault = 500
	settingsTimeout  = 10 * time.Second
)

// lookAtSettings asks the broker for its own settings, which Kafka does not pass to plugins, until it answers, and says once what of them
// hurts. It ends with ctx.
func lookAtSettings(ctx context.Context, ask func(context.Context) ([]kafkaclient.Broker, error), node int32, log *slog.Logger) {
	for pause := time.Second; ; pause = min(2*pause, 30*time.Second) {
		c, cancel := context.WithTimeout(ctx, settingsTimeout)
		brokers, err := ask(c)
		cancel()
		if err == nil {
			checkSettings(brokers, node, log)
			return
		}
		if !budget.Sleep(ctx, pause) { // a broker that starts does not answer yet
			return
		}
	}
}

// checkSettings looks at the broker of that id; a setting that it hides is not judged.
func checkSettings(brokers []kafkaclient.Broker, node int32, log *slog.Logger) {
	for _, b := range brokers {
		if b.ID != node {
			continue
		}
		if ms, err := strconv.Atoi(b.Config[fetchWait]); err == nil && ms <= fetchWaitDefault {
			log.Warn("kafka.setting", "setting", fetchWait, "value", ms,
				"effect", "Kafka drops the result of a first read that takes longer and asks again: consumers of tiered data wait for nothing",
				"do", "set 2000 to 5000; it can be changed without a restart")
		}
	}
}
