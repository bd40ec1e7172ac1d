package archtest

// rule is what one package may do.
type rule struct {
	imports []string // own packages, relative to the module; a trailing /... takes sub-packages too
	libs    []string // third-party import path prefixes
	pure    bool     // no I/O, no clock, no goroutine
}

var foundation = []string{"internal/status", "internal/budget", "internal/telemetry"}

func with(own ...string) []string { return append(own, foundation...) }

// rules is the allowed-imports table. Standard library imports are free but for pure packages.
var rules = map[string]rule{
	"internal/status":                {pure: true},
	"internal/budget":                {imports: []string{"internal/status", "internal/telemetry"}},
	"internal/telemetry":             {imports: []string{"internal/status"}, libs: []string{"github.com/prometheus/"}},
	"internal/wire":                  {libs: []string{"github.com/google/flatbuffers/go"}, pure: true},
	"internal/kafkalog":              {imports: []string{"internal/status"}, libs: []string{"github.com/klauspost/compress/", "github.com/pierrec/lz4/"}, pure: true},
	"internal/kafkaclient":           {imports: with(), libs: []string{"github.com/twmb/franz-go/"}},
	"internal/listener":              {imports: with()},
	"internal/objectstore":           {imports: with("internal/objectstore/key"), libs: []string{"golang.org/x/sys/unix"}},
	"internal/objectstore/key":       {imports: []string{"internal/status"}, pure: true},
	"internal/objectstore/s3":        {imports: with("internal/objectstore"), libs: []string{"github.com/aws/"}},
	"remotestorage":                  {imports: with("remotestorage/...", "internal/kafkalog", "internal/objectstore", "internal/objectstore/key"), libs: []string{"golang.org/x/sys/unix"}},
	"remotestorage/stored":           {imports: []string{"internal/wire", "internal/objectstore/key", "internal/status"}, libs: []string{"github.com/klauspost/compress/", "github.com/google/flatbuffers/go"}, pure: true},
	"remotestorage/fetch":            {imports: with("remotestorage/stored", "internal/objectstore")},
	"remotestorage/fetch/diskcache":  {imports: with(), libs: []string{"golang.org/x/sys/unix"}},
	"remotestorage/keyring":          {imports: []string{"internal/status"}},
	"remotestorage/reclaim":          {imports: with("remotestorage/stored", "internal/objectstore")},
	"remotestorage/reclaim/sweep":    {imports: with("remotestorage/stored", "internal/objectstore", "internal/objectstore/key")},
	"parquet":                        {imports: []string{"parquet/column", "parquet/schema", "internal/budget", "internal/status"}, libs: []string{"github.com/parquet-go/parquet-go", "github.com/klauspost/compress/"}},
	"parquet/column":                 {pure: true},
	"parquet/schema":                 {imports: []string{"parquet/column", "internal/status"}, pure: true},
	"parquet/payload":                {imports: []string{"parquet/column", "parquet/schema", "internal/status"}, libs: []string{"github.com/santhosh-tekuri/jsonschema/"}, pure: true},
	"catalog":                        {imports: []string{"internal/wire", "internal/status"}, pure: true},
	"catalog/coordinator":            {imports: with("catalog")},
	"catalog/iceberg":                {imports: with("catalog", "parquet/schema", "internal/objectstore"), libs: []string{"github.com/apache/iceberg-go", "github.com/google/uuid", "github.com/apache/arrow-go/"}},
	"catalog/builtin":                {imports: with("catalog", "catalog/iceberg", "internal/objectstore", "internal/objectstore/key", "parquet/schema"), libs: []string{"github.com/google/uuid"}},
	"tables":                         {imports: with("tables/...", "catalog", "catalog/coordinator", "internal/kafkaclient", "internal/kafkalog", "parquet/schema", "parquet/payload")},
	"tables/ingest":                  {imports: with("tables/convert", "catalog", "internal/kafkaclient", "internal/kafkalog", "internal/objectstore")},
	"tables/convert":                 {imports: []string{"internal/kafkalog", "parquet", "parquet/...", "catalog", "internal/budget", "internal/status"}, pure: true},
	"cgo":                            {imports: []string{"cgo/dispatch", "cgo/assemble", "internal/status", "internal/telemetry"}},
	"cgo/dispatch":                   {imports: []string{"internal/wire", "internal/status", "internal/telemetry", "internal/budget"}, libs: []string{"github.com/google/flatbuffers/go"}},
	"cgo/assemble":                   {imports: []string{"..."}},
	"cgo/assemble/configdoc":         {imports: []string{"cgo/assemble"}},
	"cgo/assemble/metricsdoc":        {imports: []string{"cgo/assemble", "cgo/dispatch", "internal/telemetry"}},
	"cgo/assemble/assembletest":      {imports: []string{"..."}},
	"cmd/tidemark/doctor":            {pure: true},
	"cmd/tidemark/scrub":             {imports: with("remotestorage/stored", "internal/objectstore", "internal/objectstore/key")},
	"cmd/tidemark":                   {imports: []string{"..."}},
	"internal/archtest":              {},
	"internal/kafkalog/logtest":      {imports: []string{"internal/kafkalog"}, libs: []string{"github.com/"}},
	"internal/objectstore/storetest": {imports: with("internal/objectstore")},
	"parquet/column/columntest":      {imports: []string{"parquet/column"}, pure: true},
	"catalog/catalogtest":            {imports: []string{"catalog", "internal/status"}},
}

// tests are packages that only tests, bench and integration import.
var tests = []string{"internal/archtest", "internal/kafkalog/logtest", "internal/objectstore/storetest", "parquet/column/columntest", "catalog/catalogtest", "cgo/assemble/assembletest", "integration", "bench"}

// exclusive libraries are pinned and patched in one place.
var exclusive = map[string][]string{
	"C":                             {"cgo"},
	"github.com/apache/iceberg-go":  {"catalog/iceberg"},
	"github.com/twmb/franz-go":      {"internal/kafkaclient"},
	"github.com/aws/aws-sdk-go-v2":  {"internal/objectstore/s3"},
	"github.com/parquet-go/":        {"parquet"},
	"github.com/santhosh-tekuri/":   {"parquet/payload"},
	"github.com/prometheus/":        {"internal/telemetry"},
	"github.com/google/flatbuffers": {"internal/wire", "remotestorage/stored", "cgo/dispatch"},
}

// edge is a direction of dependency that must not exist, even through others.
type edge struct{ from, to, reason string }

var forbidden = []edge{
	{"remotestorage", "tables", "Kafka durability must not depend on tables"},
	{"remotestorage", "catalog", "Kafka durability must not depend on tables"},
	{"remotestorage", "parquet", "Kafka durability must not depend on tables"},
	{"tables", "remotestorage", "else a tiering change can break a commit"},
	{"catalog", "internal/kafkaclient", "correctness rests on the catalog's compare-and-set, not on Kafka topics"},
	{"catalog", "internal/kafkalog", "correctness rests on the catalog's compare-and-set, not on Kafka topics"},
	{"internal", "remotestorage", "foundation"},
	{"internal", "tables", "foundation"},
	{"internal", "catalog", "foundation"},
	{"internal", "parquet", "foundation"},
	{"parquet", "internal/kafkalog", "columns know no Kafka and no network"},
	{"parquet", "internal/kafkaclient", "columns know no Kafka and no network"},
	{"parquet", "internal/objectstore", "columns know no Kafka and no network"},
	{"tables/convert", "internal/kafkaclient", "conversion is replayed after crashes: a pure function"},
	{"tables/convert", "internal/objectstore", "conversion is replayed after crashes: a pure function"},
}

// bannedCalls are functions that end the broker, write to its streams, or take over what is the JVM's.
var bannedCalls = []string{
	"os.Exit", "os.Stdout", "os.Stderr", "os.Setenv", "log.Fatal", "log.Fatalf", "log.Fatalln", "log.Panic", "log.Panicf",
	"fmt.Print", "fmt.Printf", "fmt.Println", "log.Print", "log.Printf", "log.Println", "slog.Default", "slog.Info", "slog.Warn", "slog.Error", "slog.Debug",
	"pprof.StartCPUProfile", "signal.Notify", "signal.Ignore",
}

// bannedImports may not be used by code that runs in the broker.
var bannedImports = []string{"os/exec", "os/signal", "testing"}

// impureImports and impureCalls are what a pure package cannot have.
var (
	impureImports = []string{"os", "net", "net/http", "os/exec"}
	impureCalls   = []string{"time.Now", "time.Since", "time.Sleep", "time.After", "time.NewTimer", "time.NewTicker"}
)

// Size limits: what does not fit is two things.
const (
	maxFileLines     = 400
	maxFunctionLines = 60
	maxPackageLines  = 2500
)
