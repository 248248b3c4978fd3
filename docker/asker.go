package docker

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/world"
)

// askerName is the client id by which the observer asks brokers.
const askerName = "tidemark-observer"

// asker puts requests to one broker over one connection, one at a time, in the newest version that both speak. After an error it connects
// anew.
type asker struct {
	conn        *conn
	format      *kmsg.RequestFormatter
	versions    map[int16]int16 // the newest that the broker speaks, by API key
	correlation int32
}

func newAsker() *asker {
	return &asker{format: kmsg.NewRequestFormatter(kmsg.FormatterClientID(askerName))}
}

// ask sends a request, in at most the version that it has, and reads the answer before the deadline.
func (a *asker) ask(ctx context.Context, address string, req kmsg.Request, deadline time.Time) (kmsg.Response, error) {
	if a.conn == nil {
		if err := a.connect(ctx, address, deadline); err != nil {
			return nil, err
		}
	}
	speaks, ok := a.versions[req.Key()]
	if !ok {
		return nil, fmt.Errorf("%s is not spoken at %s", kmsg.NameForKey(req.Key()), address)
	}
	req.SetVersion(min(req.GetVersion(), speaks))
	resp, err := a.call(req, deadline)
	if err != nil {
		a.close()
	}
	return resp, err
}

// connect connects and asks which versions the broker speaks (ApiVersions, KIP-35: every broker from 0.10 on does).
func (a *asker) connect(ctx context.Context, address string, deadline time.Time) (err error) {
	if a.conn, err = dial(ctx, address, time.Until(deadline)); err != nil {
		a.conn = nil
		return err
	}
	resp, err := a.call(kmsg.NewPtrApiVersionsRequest(), deadline) // in version 0
	if err != nil {
		a.close()
		return err
	}
	a.versions = map[int16]int16{}
	for _, k := range resp.(*kmsg.ApiVersionsResponse).ApiKeys {
		a.versions[k.ApiKey] = k.MaxVersion
	}
	return nil
}

func (a *asker) call(req kmsg.Request, deadline time.Time) (kmsg.Response, error) {
	a.correlation++
	frame := a.format.AppendRequest(nil, req, a.correlation)
	if err := a.conn.Send(frame[4:]); err != nil { // Send writes the length itself
		return nil, err
	}
	answer, err := a.conn.Receive(time.Until(deadline))
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	if len(answer) < 4 || int32(binary.BigEndian.Uint32(answer)) != a.correlation {
		return nil, fmt.Errorf("%w: not the answer to %s", world.ErrClosed, kmsg.NameForKey(req.Key()))
	}
	body := answer[4:]
	if resp.IsFlexible() && req.Key() != int16(kmsg.ApiVersions) {
		if len(body) == 0 || body[0] != 0 { // nobody sends tags in a header
			return nil, fmt.Errorf("%w: %s with a tagged header", world.ErrClosed, kmsg.NameForKey(req.Key()))
		}
		body = body[1:]
	}
	return resp, resp.ReadFrom(body)
}

func (a *asker) close() {
	if a.conn != nil {
		a.conn.Close()
		a.conn = nil
	}
}
