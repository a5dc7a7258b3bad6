<?php
// A receiver in PHP 8, under any web server, or: WEBHOOK_SECRET=… php -S 127.0.0.1:8000 receive.php
declare(strict_types=1);

const TOLERANCE_SECONDS = 300;
const BODY_LIMIT = 1_048_576;

function is_genuine(string $timestamp, string $signature, string $body, string $secret): bool
{
    if (preg_match('/\A[0-9]{1,12}\z/', $timestamp) !== 1) {
        return false;
    }
    if (abs(time() - (int) $timestamp) > TOLERANCE_SECONDS) {
        return false;
    }
    return hash_equals(hash_hmac('sha256', $body, $secret), $signature);
}

$secret = getenv('WEBHOOK_SECRET');
if ($secret === false || $secret === '') {
    http_response_code(500);
    exit('Set WEBHOOK_SECRET to the secret of the webhook.');
}

// The octets as they came: parse only what was verified.
$body = file_get_contents('php://input', false, null, 0, BODY_LIMIT + 1);
if ($body === false || strlen($body) > BODY_LIMIT) {
    http_response_code(413);
    exit;
}
$timestamp = $_SERVER['HTTP_X_WEBHOOK_TIMESTAMP'] ?? '';
$signature = $_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? '';
if (!is_genuine($timestamp, $signature, $body, $secret)) {
    http_response_code(401);
    exit;
}

$delivery = json_decode($body, true);
// The same id can come again: do the work once per id, and soon, because the sender waits 30 seconds.
// A webhook with `batch` sends several changes in `events`, any other one sends one in `event`.
foreach ($delivery['events'] ?? [$delivery] as $item) {
    error_log("received {$delivery['id']}: {$item['event']['new_state']}");
}
http_response_code(204);
