package kafkalog

// Limits bound what is allocated for bytes that may be damaged or hostile. A field that is zero means the default.
type Limits struct {
	MaxBatchBytes   int // one batch as stored; default 128 MiB
	MaxDecompressed int // the records of one batch after decompression; default 512 MiB
	MaxRecordBytes  int // one record, headers included; default 128 MiB
	MaxHeaders      int // headers of one record; default 65 536
}

// DefaultLimits are far above what a broker accepts unless max.message.bytes was raised by two orders of magnitude.
func DefaultLimits() Limits { return Limits{}.orDefault() }

func (l Limits) orDefault() Limits {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&l.MaxBatchBytes, 128<<20)
	set(&l.MaxDecompressed, 512<<20)
	set(&l.MaxRecordBytes, 128<<20)
	set(&l.MaxHeaders, 1<<16)
	return l
}
