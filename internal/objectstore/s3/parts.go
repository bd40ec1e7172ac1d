package s3

// Bounds of a part whose size is chosen, and what all sizes that are chosen are multiples of. A part is repeated as a whole, so a larger one loses
// more to an error; above 64 MiB few requests are saved. Every part has the same size but the last: some stores refuse others.
const (
	minChosen = 16 << 20
	maxChosen = 64 << 20
	partStep  = 1 << 20
)

// partSize is the size of the parts of an object of size bytes.
func (c Config) partSize(size int64) int64 {
	part := c.PartSize
	if part == 0 {
		part = min(max((size+int64(c.Concurrency)-1)/int64(c.Concurrency), minChosen), maxChosen)
		part = (part + partStep - 1) / partStep * partStep
	}
	for (size+part-1)/part > maxParts {
		part *= 2
	}
	return min(part, maxPart)
}
