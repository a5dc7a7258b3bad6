# A receiver in Ruby 3: WEBHOOK_SECRET=… PORT=8000 ruby receive.rb
require "json"
require "openssl"
require "socket"

SECRET = ENV.fetch("WEBHOOK_SECRET")
TOLERANCE_SECONDS = 300
BODY_LIMIT = 1_048_576

def genuine?(timestamp, signature, body)
  return false unless timestamp.match?(/\A[0-9]{1,12}\z/)
  return false if (Time.now.to_i - timestamp.to_i).abs > TOLERANCE_SECONDS

  OpenSSL.secure_compare(OpenSSL::HMAC.hexdigest("SHA256", SECRET, body), signature)
end

def read_headers(socket)
  headers = Hash.new("")
  while (line = socket.gets("\r\n", 8192)&.b&.chomp) && !line.empty? && headers.size < 100
    name, value = line.split(":", 2)
    headers[name.downcase] = value.to_s.strip
  end
  headers
end

def status_for(socket)
  socket.gets("\r\n", 8192) # the request line; any path will do
  headers = read_headers(socket)
  length = headers["content-length"].to_i
  return "413 Content Too Large" if length > BODY_LIMIT

  body = socket.read(length).to_s # the octets as they came: parse only what was verified
  return "401 Unauthorized" unless genuine?(headers["x-webhook-timestamp"], headers["x-service-signature"], body)

  # The same id can come again: do the work once per id, and soon, because the sender waits 30 seconds.
  puts "received #{JSON.parse(body)["id"]}"
  "204 No Content"
end

server = TCPServer.new("127.0.0.1", ENV.fetch("PORT", "8000").to_i)
loop do
  Thread.new(server.accept) do |socket|
    socket.timeout = 30 if socket.respond_to?(:timeout=)
    socket.write("HTTP/1.1 #{status_for(socket)}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
  ensure
    socket.close
  end
end
