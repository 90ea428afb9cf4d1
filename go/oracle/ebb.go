package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Ebb is a running `ebb filter --stdin`.
//
// Threads: one goroutine at a time.
type Ebb struct {
	path    string
	command *exec.Cmd
	input   *bufio.Writer
	close   io.Closer
	output  *bufio.Reader
	errors  *tail
}

// replyTimeout is so long that only a hang exceeds it, even on a busy machine.
const replyTimeout = 30 * time.Second

// StartEbb starts the program at path.
func StartEbb(path string) (*Ebb, error) {
	e := &Ebb{path: path}
	return e, e.start()
}

func (e *Ebb) start() error {
	e.command = exec.Command(e.path, "filter", "--stdin")
	input, err := e.command.StdinPipe()
	if err != nil {
		return err
	}
	output, err := e.command.StdoutPipe()
	if err != nil {
		return err
	}
	e.errors = &tail{}
	e.command.Stderr = e.errors
	e.input, e.close = bufio.NewWriterSize(input, 1<<16), input
	e.output = bufio.NewReaderSize(output, 1<<16)
	return e.command.Start()
}

// Send sends ebb a request and returns while ebb works on it.
func (e *Ebb) Send(line []byte) error {
	if _, err := e.input.Write(line); err != nil {
		return e.fail(err)
	}
	if err := e.input.WriteByte('\n'); err != nil {
		return e.fail(err)
	}
	if err := e.input.Flush(); err != nil {
		return e.fail(err)
	}
	return nil
}

// Receive waits for the answer to the last request. An error is ebb's fault: it crashed, hung or
// wrote something that is not a response. Receive then restarts ebb.
func (e *Ebb) Receive() (*Response, error) {
	watchdog := time.AfterFunc(replyTimeout, func() { _ = e.command.Process.Kill() })
	line, err := e.output.ReadBytes('\n')
	if !watchdog.Stop() {
		return nil, e.fail(fmt.Errorf("no answer within %v", replyTimeout))
	}
	if err != nil {
		return nil, e.fail(err)
	}
	response := &Response{}
	if err := json.Unmarshal(line, response); err != nil {
		return nil, e.fail(fmt.Errorf("not a response: %w", err))
	}
	return response, nil
}

// Ask sends a request and waits for its answer.
func (e *Ebb) Ask(request *Request) (*Response, error) {
	line, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	if err := e.Send(line); err != nil {
		return nil, err
	}
	return e.Receive()
}

// Stop ends the program.
func (e *Ebb) Stop() {
	_ = e.close.Close()
	_ = e.command.Wait()
}

// fail ends the rest of the program, restarts it and returns an error with its exit status and
// stderr.
func (e *Ebb) fail(cause error) error {
	_ = e.command.Process.Kill()
	_ = e.close.Close()
	_, _ = io.Copy(io.Discard, e.output)
	if err := e.command.Wait(); err != nil {
		cause = fmt.Errorf("%w (%v)", cause, err)
	}
	if text := e.errors.String(); text != "" {
		cause = fmt.Errorf("%w: %s", cause, text)
	}
	if err := e.start(); err != nil {
		return errors.Join(cause, err)
	}
	return cause
}

// tail keeps the last part of a program's stderr.
type tail struct{ text []byte }

const tailBytes = 2000

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if excess := len(t.text) - tailBytes; excess > 0 {
		t.text = t.text[excess:]
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.TrimSpace(string(t.text)) }

// findEbb returns the path of ebb: the flag's, the environment's, or the build's.
func findEbb(flag string) (string, error) {
	path := flag
	if path == "" {
		path = os.Getenv("EBB")
	}
	if path == "" {
		path = "../../build/release/ebb"
	}
	if _, err := os.Stat(path); err != nil {
		return "", err
	}
	return path, nil
}
