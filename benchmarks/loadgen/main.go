// Loadgen is a closed-loop load of prepared gRPC requests: N callers, one call each at a time.
//
// It knows no message: requests and replies are bytes. A load is read from stdin: the length of a
// header (4 bytes, big-endian), the header in JSON, then every request with its length before it,
// caller by caller. A header in JSON goes to stdout, then the replies that are kept, without
// lengths. A refused call ends it with exit code 1, unless the load may be refused.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

const (
	connectionsMax = 8
	connectSecs    = 30
	callSecs       = 120
)

// Load is a header: `Counts` has the number of requests of each caller. They are sent for `Seconds`
// over and over, or once in order where that is 0; with `UntilEmpty` the first is sent until a reply
// is empty. With `CaFile` connections have TLS. `AuthTokens` are those of the callers, in turn; ""
// is none. Replies of refused calls are empty, where a load may be refused.
type Load struct {
	Target       string   `json:"target"`
	Method       string   `json:"method"`
	Counts       []int    `json:"counts"`
	Seconds      float64  `json:"seconds"`
	UntilEmpty   bool     `json:"until_empty"`
	CaFile       string   `json:"ca_file"`
	AuthTokens   []string `json:"auth_tokens"`
	MayBeRefused bool     `json:"may_be_refused"`
}

// Rates are the measured calls. `Sizes` are those of the replies that follow: each caller's last,
// or all that are not empty with `UntilEmpty`.
type Rates struct {
	Calls   int     `json:"calls"`
	Seconds float64 `json:"seconds"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
	Sizes   []int   `json:"sizes"`
}

// caller is one caller with what it has measured.
type caller struct {
	authToken string
	requests  [][]byte
	latencies []time.Duration
	replies   [][]byte
}

// bytesCodec passes messages as they are.
type bytesCodec struct{}

func (bytesCodec) Marshal(message any) ([]byte, error) { return *message.(*[]byte), nil }

func (bytesCodec) Unmarshal(raw []byte, message any) error {
	*message.(*[]byte) = slices.Clone(raw)
	return nil
}

func (bytesCodec) Name() string { return "proto" }

func main() {
	log.SetFlags(0)
	log.SetPrefix("loadgen: ")
	if err := run(bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)); err != nil {
		log.Fatal(err)
	}
}

func run(in io.Reader, out *bufio.Writer) error {
	load, callers, err := read(in)
	if err != nil {
		return fmt.Errorf("the load on stdin: %w", err)
	}
	connections, err := connect(load, min(connectionsMax, len(callers)))
	if err != nil {
		return err
	}
	began := time.Now()
	failures := make(chan error, len(callers))
	var running sync.WaitGroup
	for number, own := range callers {
		running.Go(func() { failures <- own.send(connections[number%len(connections)], load, began) })
	}
	running.Wait()
	elapsed := time.Since(began)
	close(failures)
	for failure := range failures {
		if failure != nil {
			return failure
		}
	}
	return write(out, callers, elapsed)
}

func read(in io.Reader) (load Load, callers []*caller, err error) {
	header, err := readBlock(in)
	if err != nil {
		return load, nil, err
	}
	if err = json.Unmarshal(header, &load); err != nil {
		return load, nil, err
	}
	if len(load.AuthTokens) == 0 {
		return load, nil, fmt.Errorf("no auth_tokens; an empty one is none")
	}
	for number, count := range load.Counts {
		own := &caller{authToken: load.AuthTokens[number%len(load.AuthTokens)]}
		for range count {
			request, err := readBlock(in)
			if err != nil {
				return load, nil, err
			}
			own.requests = append(own.requests, request)
		}
		callers = append(callers, own)
	}
	if len(callers) == 0 {
		return load, nil, fmt.Errorf("no callers")
	}
	return load, callers, nil
}

func readBlock(in io.Reader) ([]byte, error) {
	var size uint32
	if err := binary.Read(in, binary.BigEndian, &size); err != nil {
		return nil, err
	}
	block := make([]byte, size)
	_, err := io.ReadFull(in, block)
	return block, err
}

// connect returns connections that are ready: a few callers share one, as a fleet would.
func connect(load Load, count int) ([]*grpc.ClientConn, error) {
	security := insecure.NewCredentials()
	if load.CaFile != "" {
		var err error
		if security, err = credentials.NewClientTLSFromFile(load.CaFile, ""); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectSecs*time.Second)
	defer cancel()
	var connections []*grpc.ClientConn
	for range count {
		connection, err := grpc.NewClient("passthrough:///"+load.Target,
			grpc.WithTransportCredentials(security),
			grpc.WithDefaultCallOptions(grpc.ForceCodec(bytesCodec{}), grpc.MaxCallRecvMsgSize(math.MaxInt32)),
		)
		if err != nil {
			return nil, err
		}
		connection.Connect()
		for state := connection.GetState(); state != connectivity.Ready; state = connection.GetState() {
			if !connection.WaitForStateChange(ctx, state) {
				return nil, fmt.Errorf("no connection to %s in %d s", load.Target, connectSecs)
			}
		}
		connections = append(connections, connection)
	}
	return connections, nil
}

// send makes the caller's calls, one at a time; the last one may end after the time is up.
func (c *caller) send(connection *grpc.ClientConn, load Load, began time.Time) error {
	until := began.Add(time.Duration(load.Seconds * float64(time.Second)))
	for {
		for _, request := range c.requests {
			reply, err := c.call(connection, load, request)
			if err != nil && !load.MayBeRefused {
				return fmt.Errorf("%s: %w", load.Method, err)
			}
			if load.UntilEmpty && len(reply) == 0 {
				return nil
			}
			if !load.UntilEmpty {
				c.replies = c.replies[:0]
			}
			c.replies = append(c.replies, reply)
			if load.Seconds > 0 && time.Now().After(until) {
				return nil
			}
		}
		if load.Seconds == 0 && !load.UntilEmpty {
			return nil
		}
	}
}

func (c *caller) call(connection *grpc.ClientConn, load Load, request []byte) (reply []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), callSecs*time.Second)
	defer cancel()
	if c.authToken != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.authToken)
	}
	start := time.Now()
	err = connection.Invoke(ctx, load.Method, &request, &reply)
	c.latencies = append(c.latencies, time.Since(start))
	return reply, err
}

func write(out *bufio.Writer, callers []*caller, elapsed time.Duration) error {
	var latencies []time.Duration
	var replies [][]byte
	for _, own := range callers {
		latencies = append(latencies, own.latencies...)
		replies = append(replies, own.replies...)
	}
	slices.Sort(latencies)
	rates := Rates{Calls: len(latencies), Seconds: elapsed.Seconds(), Sizes: []int{}}
	rates.P50 = 1e3 * latencies[len(latencies)/2].Seconds()
	rates.P99 = 1e3 * latencies[len(latencies)*99/100].Seconds()
	for _, reply := range replies {
		rates.Sizes = append(rates.Sizes, len(reply))
	}
	if err := json.NewEncoder(out).Encode(rates); err != nil {
		return err
	}
	for _, reply := range replies {
		if _, err := out.Write(reply); err != nil {
			return err
		}
	}
	return out.Flush()
}
