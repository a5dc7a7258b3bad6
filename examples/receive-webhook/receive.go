// A receiver in Go: WEBHOOK_SECRET=… PORT=8000 go run receive.go
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"
)

const toleranceSeconds, bodyLimit = 300, 1 << 20

func isGenuine(header http.Header, body []byte, secret string) bool {
	timestamp, err := strconv.ParseUint(header.Get("X-Webhook-Timestamp"), 10, 40)
	age := time.Now().Unix() - int64(timestamp)
	if err != nil || age > toleranceSeconds || age < -toleranceSeconds {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	given, err := hex.DecodeString(header.Get("X-Service-Signature"))
	return err == nil && hmac.Equal(given, mac.Sum(nil))
}

func main() {
	secret, port := os.Getenv("WEBHOOK_SECRET"), os.Getenv("PORT")
	if secret == "" || port == "" {
		log.Fatal("Set WEBHOOK_SECRET to the secret of the webhook, and PORT.")
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		// The octets as they came: parse only what was verified.
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
		if err != nil || !isGenuine(r.Header, body, secret) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var delivery struct{ Id string }
		if json.Unmarshal(body, &delivery) == nil {
			log.Print("received ", delivery.Id) // the same id can come again: do the work once per id, and soon
		}
		w.WriteHeader(http.StatusNoContent)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}
