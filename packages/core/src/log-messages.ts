// docs/logs.md is generated from this table and its comments: `pnpm generate`.

/** The messages of log lines, each with its level and the way out. */
export const messages = {
  // ## Decisions
  /**
   * (info) It was stored (with `ack: "handled"`: handled) and answered 200. `status` is `accepted`, or `duplicate` with the id
   * of the first copy.
   */
  acknowledged: "Notification acknowledged.",
  /** (info) It was answered with the problem `code`: see [responses](options.md#responses-of-the-endpoint). */
  refused: "Notification refused.",
  /** (info) It is unsigned and waits for review: see `unsigned` in [what is parked](operating.md#what-is-parked). */
  heldOnArrival: "Delivery held on arrival.",
  /** (info) The service gave its verdict, `verification`. */
  verified: "Delivery verified.",
  /** (info) It is of a request of `receiver.reports`, and another delivery brought its event before, or it came after the end. */
  repeated: "Delivery repeats an event of its request: no handler ran.",
  /** (warn) Its request had the final status `state` before. The delivery is handled, the request stays as it was. */
  anotherEnd: "Delivery brought another final status of its request.",
  /** (info) The service did not make the signature, or it expired and the option `expired` is `"refuse"`. */
  rejected: "Delivery rejected.",
  /** (info) All handlers succeeded, or none is registered, at this `attempt`. */
  handled: "Delivery handled.",
  /**
   * (warn, once a minute) A test or report of this `type` came and no handler ran. The inbox shows `no handler ran`. Register
   * a handler, or `on("report", …)` for all reports. Then release the deliveries that should run.
   */
  noHandler: "Delivery counted as handled: no handler is registered for its type.",
  /** (warn) Logged once, at the start. Register handlers before you mount or start the receiver. */
  noHandlers:
    "Receiver started without a handler: reports count as handled, and nothing runs. Call on() before the start.",
  /**
   * (info) There was no verdict yet, or the process is ending. The next attempt is after `afterMs`, or later while
   * verification is paused.
   */
  postponed: "Delivery postponed: it waits for its next attempt.",
  /** (warn) A handler threw `error`. All handlers run again after `afterMs`. Fix the handler; nothing is lost. */
  handlerFailed: "Handler failed; the delivery will be retried.",
  /** (warn) Held for `reason`, as `why` says: see [what is parked](operating.md#what-is-parked). Unverified: once a minute. */
  held: "Delivery held: release or discard it.",
  /** (warn) The same for a dead delivery. */
  dead: "Delivery dead: see why, then release or discard it.",
  /**
   * (warn) With `ack: "handled"`: there was no verdict (told once a minute), a handler threw `error`, or `reason` says why.
   * Nothing is stored. Fix the cause. Whether the sender retries is up to the sender.
   */
  notHandled: "Notification not handled: answered 503.",
  /** (warn, once a minute) With `ack: "handled"`: it took too long. Make handlers faster, or store it. A genuine one is always told. */
  notHandledInTime: "Notification not handled in time: answered 503.",
  // ## The service
  /**
   * (error, once a minute) The service answered 401 or 403. Probes keep asking, a few a second at most. Set the right key within 5
   * minutes; then signatures begin to expire.
   */
  keyRefused:
    "The service refuses the API key: verification is paused, and what waits is kept. Check apiKey.",
  /**
   * (warn, once a minute) The service is unreachable or its answer is not a verdict: see `error`. The receiver asks again.
   * After an hour deliveries are held as `not_verified`.
   */
  noVerdict:
    "No verdict from the service. If this continues, check baseUrl and whether the service is reachable.",
  /** (warn, once a minute) It did not answer, or refused the key, as logged before. Waiting deliveries are verified now. */
  verdictsAgain: "Service gives verdicts again: waiting deliveries are verified.",
  /**
   * (warn, once a minute) Somebody sends forged notifications; no handler sees them. If genuine ones are rejected too, the key
   * belongs to another account.
   */
  forged:
    "Notification rejected: the service did not make its signature. If all are rejected, check apiKey and baseUrl.",
  /**
   * (warn, once a minute) With `expired: "refuse"`: the service answered 424. Use `expired: "hold"`, and find out why
   * verification took more than 5 minutes.
   */
  expired:
    "Notification refused: its signature expired. The option expired can hold it for a person.",
  /** (warn, once a minute) With `ack: "handled"`: the service answered 424, and nothing is stored. Use `ack: "stored"`. */
  expiredNotHeld:
    "Notification refused: its signature expired, and the option ack has nothing stored that could be held.",
  /**
   * (warn, once a minute) With `verify: "before-ack"`: the service took longer than `limits.verifyMs`, and is asked again. Raise
   * it, or use `verify: "after-ack"`.
   */
  noVerdictInTime:
    "No verdict before the answer: the notification was acknowledged, and is verified afterwards.",
  /** (warn) Logged once, if `baseUrl` begins with `http:` and leads to another machine. Use `https:`. */
  insecure:
    "baseUrl is not https: anyone on the network can read the API key and forge verdicts. Use https.",
  // ## Incoming notifications
  /**
   * (warn, once a minute) `headers` are the names of the headers that came. Set the option `signature`, or refuse unsigned
   * ones with `unsigned: "refuse"`.
   */
  unsignedHeld:
    "Notification held: it has no signature. If one of these headers carries it, name it in the option signature.",
  /**
   * (warn, once a minute) With `unsigned: "refuse"` or `unsignedTests: "refuse"`, or with `ack: "handled"`, where nothing can be
   * held. `headers` are the names of the headers that came. Set the option `signature`. If genuine ones are unsigned, use `"hold"` or
   * `"accept"`.
   */
  unsignedRefused:
    "Notification refused by the options: it has no signature. If one of these headers carries it, name it in the option signature.",
  /** (warn, once a minute) `headers` are the names of the headers that came. Raise the limit, or set the option `signature`. */
  bodyTooLarge:
    "Notification refused: its body is over the limit, answered 413. Raise limits.bodyBytes. Unsigned bodies may have 4 KiB: if one of these headers carries the signature, name it in the option signature.",
  /**
   * (warn, once a minute) The sender stopped half way, or took longer than `limits.bodyMs`. Raise the limit. A proxy or parser
   * ahead of the receiver may hold the body back.
   */
  bodyTimeout:
    "Notification refused: its body did not arrive in time, answered 408. If senders are slow, raise limits.bodyMs; else check the proxies and parsers ahead of the receiver.",
  /** (warn, once a minute) The content type is not JSON, or the body is encoded. Set the option `signature`. */
  wrongContentType:
    "Notification refused: it has no signature and is not sent as JSON, answered 415. If one of these headers carries the signature, name it in the option signature.",
  /** (warn, once a minute) The body is not a JSON object. Set the option `signature`. */
  invalidJson:
    "Notification refused: it has no signature and is no JSON object, answered 400. If one of these headers carries the signature, name it in the option signature.",
  /**
   * (warn, once a minute) The notification is stored, but its sender saw another answer. `headers` are the names of the
   * headers that came. Await or return the adapter's promise. No other route or middleware may answer.
   */
  answerLost:
    "Answer lost: something else had answered the request. Await the promise of the adapter, and do not call next() ahead of it.",
  /**
   * (warn, once a minute) The receiver is closed. Stop the server first, with `shutdown(server, receiver)`: see
   * [deploying](deploying.md).
   */
  closing:
    "Notification refused while closing: answered 503. Call shutdown(server, receiver), which stops the server first.",
  /**
   * (warn, once a minute) Over 10 a second, 100 waiting or 1,000 held. Somebody may be probing the address: set `unsigned:
   * "refuse"` and `unsignedTests: "refuse"`, and discard the held ones.
   */
  tooManyUnsigned: "Notification refused: too many have no signature.",
  /**
   * (warn, once a minute) The same signature on another body, path or query: compare `id` and `sameSignatureAs`. If one is forged, set
   * `reusedSignature: "hold"`.
   */
  reusedSignature: "Signature reused with other bytes, or at another address.",
  /** (warn) Logged once, with `autostart: false`. Call `start()`, unless another instance handles deliveries. */
  notStarted: "Delivery stored, but not handled before start(): autostart is off.",
  /**
   * (warn, once a minute) With `callback: { require: true }`. `token` is `missing` or `invalid`. The service vouches for it or not;
   * a genuine one is held as `no_token`. Many are genuine: a secret is missing from `callback.secrets`, or reports were requested
   * with a URL that was not signed.
   */
  tokenAwaited:
    "Request without a valid callback token: if the service vouches for it, it will be held.",
  /**
   * (warn, once a minute) The same where it is unsigned, or where over 10 a second come or 1,000 are `kept`, or with `ack:
   * "handled"`.
   */
  tokenRefused: "Request refused: it has no valid callback token, answered 404.",
  /** (warn, once a minute) The same without `require`: the request is answered as any other. */
  tokenMissing: "Request without a valid callback token: its event has no context.",
  /** (error, once a minute) Every notification is answered 500. [Mount before body parsers](body-parsers.md). */
  bodyUnavailable:
    "Something ahead of the receiver consumed the body and left nothing: mount the receiver before it, or let it keep rawBody.",
  /**
   * (warn, once a minute) `waiting` or `unverified` is at its limit. Handlers or the service are too slow: see
   * [sizing](operating.md#sizing).
   */
  overloaded: "Notification refused: too many are waiting, answered 503.",
  /** (warn, once a minute) The memory inbox has reached `maxBytes`. The same, or use the SQLite inbox. */
  inboxFull: "Notification refused: the inbox is full, answered 503.",
  /**
   * (error, once a minute) The platform's `waitUntil` threw `error`. Pass its context unchanged: `receiver.fetch(request,
   * ctx)`.
   */
  waitUntilFailed: "waitUntil failed; continuing without it.",
  /**
   * (error, once a minute) `error` came from code that should not throw, such as the option `signature`. If it came from
   * reporthook, report it.
   */
  requestFailed: "Request failed unexpectedly: answered 503.",
  // ## The inbox
  /**
   * (warn) The receiver uses the memory inbox by default. Pass `inbox: sqliteInbox("inbox.db")`, or `memoryInbox()` if you
   * want it.
   */
  noInbox: "No inbox given: a crash loses acknowledged deliveries.",
  /** (warn) Only with `NODE_ENV=development`. Nothing to do. */
  receiverReplaced:
    "Receiver replaced: its module was evaluated again, and the earlier receiver of this name is closed.",
  /** (warn) The time of `close` is over. The `signal` of these handlers is aborted; another process handles their deliveries. */
  interrupted: "Handlers interrupted: their deliveries will be handled again.",
  /**
   * (error) Logged at the end of `close`, with their number: they failed again, or the time was over. They are handled only if
   * this process opens the inbox again.
   */
  closedWhileWaiting:
    "Receiver closed while deliveries wait in memory: the end of the process loses them. A durable inbox keeps them.",
  /** (error) In the same situation; `error` says why. Restart the development server. */
  earlierNotClosed: "The earlier receiver could not be closed.",
  /**
   * (error, once a minute) `error` says why: disk full, file gone or damaged, locked, too slow. See [when the inbox
   * fails](operating.md#when-the-inbox-fails).
   */
  notStored: "Notification not stored: answered 503.",
  /** (error) At the start; the next try is after `afterMs`. See [when the inbox fails](operating.md#when-the-inbox-fails). */
  inboxNotOpened: "Inbox not opened: notifications are answered 503; retrying.",
  /**
   * (error, once a minute) Pruning failed with `error`; no other data is affected. See [when the inbox
   * fails](operating.md#when-the-inbox-fails).
   */
  notPruned: "Expired deliveries not pruned; retrying.",
  /**
   * (warn, once a minute) The wall clock moved by `ms` milliseconds more than time has passed. After sleep there is nothing to do;
   * else have the machine's clock kept right, with NTP. Times are shown as the wall clock shows them.
   */
  clockSet:
    "The clock was set, or the machine slept: delays, ages and retention go on by the time that has passed here.",
  /**
   * (warn) `count` parked deliveries of the inbox, of any receiver, reach the end of their retention: they are deleted at
   * `deletedFrom` at the earliest. `reasons` says why they were parked. Release or discard them before; `look` lists all.
   */
  parkedExpiring: "Parked deliveries will be deleted soon: release or discard them before.",
  /**
   * (warn) `count` parked deliveries of the inbox, of any receiver, were deleted, as announced before; `reasons` says why they were
   * parked. To keep them longer, raise `retention.parkedMs` of the inbox.
   */
  parkedDeleted:
    "Parked deliveries deleted: nobody released them before the end of their retention.",
  /** (error) The memory inbox deleted `count` of them. Use a durable inbox; a higher `maxBytes` does not raise the 10,000. */
  parkedMadeRoom:
    "Parked deliveries deleted to make room: over half of maxBytes, over 10,000 without a valid verdict, or for new ones.",
  /** (error) A hook of `observe` threw `error`, or the inbox could not be closed. */
  unexpected: "Processing failed unexpectedly.",
  /**
   * (error, once a minute) The inbox could not claim deliveries or record an outcome. Each different `error` has its own line
   * and `count`. If it continues, see [when the inbox fails](operating.md#when-the-inbox-fails).
   */
  inboxFailed: "Inbox failed while processing deliveries; retrying.",
  /**
   * (warn) Its event loop did not turn for over 5 seconds; `what` says how long, and whether other processes have taken over its
   * deliveries. Look for synchronous work in handlers, for a stopped or starved machine.
   */
  stoodStill: "Process stood still: for over 5 seconds, nothing in it could run.",
  /** (warn) `what` names that process, and says how many and how long it was silent. See why it stands still, or has ended. */
  tookOver: "Deliveries of another process taken over: it gave no sign of life.",
  // ## Alerts
  /**
   * (error, once a minute) The `send` of [alerts](monitoring.md#alerts) threw `error`, was answered with an error, or took over
   * 10 seconds. `code` says which alert. Addresses in `error` are cut to their origin.
   */
  alertNotSent: "Alert not sent; retrying.",
} as const;
