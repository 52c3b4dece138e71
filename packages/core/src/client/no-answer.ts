import type { ServiceErrorDetails } from "../errors.ts";
import { ignoredProxy } from "../lib/platform.ts";
import { safeGet, safeText } from "../lib/safe-get.ts";
import { joinedIn } from "../lib/text/describe.ts";
import { chainOf } from "../lib/thrown.ts";

/** The way out where a proxy asks for a password, which it says by 407. */
export const proxyPassword = "the proxy asks for a user and a password: put them into its URL";

/** The words of an error, and the reason for no answer. */
type Family = readonly [said: RegExp, why: string];

// The codes of Node, undici, Bun and OpenSSL, and messages where there is no code, as in Deno. The first that fits counts.
/** Nothing works without a change. */
const setup: readonly Family[] = [
  [
    /^(?:(?:DEPTH_ZERO_)?SELF_SIGNED_CERT\w*|CERT_\w+|ERR_TLS_CERT\w*|UNABLE_TO_(?:VERIFY|GET|DECRYPT|DECODE)_\w+|HOSTNAME_MISMATCH|INVALID_(?:CA|PURPOSE))$|invalid peer certificate|self[- ]signed certificate/m,
    "its certificate is not trusted: check baseUrl and the clock of this machine; if a private authority has signed it, name the file with the authority's certificate in NODE_EXTRA_CA_CERTS, and restart",
  ],
  [
    /^ERR_SSL_\w*ALERT_(?:\w*CERTIFICATE\w*|UNKNOWN_CA|HANDSHAKE_FAILURE|PROTOCOL_VERSION|ACCESS_DENIED)$/m,
    "it refused the TLS connection: it may want a client certificate, which the agent of a fetch can have",
  ],
  [
    /^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|UNSUPPORTED_PROTOCOL)$|wrong version number|packet length too long|InvalidContentType/m,
    "it does not speak TLS: check whether baseUrl has to begin with http:",
  ],
  [
    /invalid on\w+ method|\bdispatch(?:er)?\b.*(?:function|implement|instance)|^ERR_INVALID_PROTOCOL$/m,
    "the agent (dispatcher) is none of this fetch: take both from one version of one package",
  ],
  // Node's fetch hides a 407 behind an error without a word, and makes no other one of a call like ours.
  [/Proxy response \(407\)|statusCode=407|^\nError\n$/, proxyPassword],
  [
    /Proxy response|HTTP Tunneling|tunneling socket|^ERR_PROXY_\w+$|Proxy connection ended/m,
    "the proxy led to no service: check baseUrl, and what the proxy permits",
  ],
  [/^bad port$/m, "fetch allows no call to this port: check baseUrl"],
  [
    /^(?:EACCES|EPERM|ERR_ACCESS_DENIED|NotCapable|PermissionDenied|UND_ERR_INVALID_ARG|ERR_INVALID_\w+)$|^unknown scheme$/m,
    "it can't be sent from here: check baseUrl and what this process may do",
  ],
];
/** No connection was made, which may work later. */
const connecting: readonly Family[] = [
  [
    /^(?:ENOTFOUND|EAI_\w+)$|dns error/m,
    "its name was not found: check baseUrl, and the DNS of this machine",
  ],
  [
    /^(?:ECONNREFUSED|ConnectionRefused)$|connection refused/im,
    "the connection was refused: check baseUrl and its port, and whether the service is up",
  ],
  [
    /^(?:E(?:HOST|NET)(?:UNREACH|DOWN)|EADDRNOTAVAIL|EMFILE|UND_ERR_CONNECT_TIMEOUT|FailedToOpenSocket)$|connect ETIMEDOUT|before secure TLS connection/m,
    "no connection was made: check baseUrl, and the network and the firewalls on the way",
  ],
];

/** Finds out why a call got no answer, in words with the way out; `byGlobal`: the global `fetch` made it. */
export function noAnswer(
  thrown: unknown,
  endpoint: string,
  byGlobal: boolean,
): Pick<ServiceErrorDetails, "sent" | "retryable"> & { readonly why: string } {
  const links = chainOf(thrown);
  const family = familyOf(links);
  if (family === undefined) return { why: "check baseUrl", sent: true, retryable: true };
  const [, why] = family;
  // Of several connections, another one may have come through.
  const ends = links.filter(
    (link) => safeGet(link, "cause") === undefined && joinedIn(link).length === 0,
  );
  const sent = ends.some((end) => familyOf([end]) === undefined);
  const isSetup = setup.includes(family);
  const proxy = isSetup || !byGlobal ? undefined : ignoredProxy(endpoint);
  if (proxy === undefined) return { why, sent, retryable: !isSetup };
  const way = `${proxy} is set, and this fetch ignores it: set NODE_USE_ENV_PROXY=1 (from Node 22.21 on), or give createClient a fetch with the ProxyAgent of undici`;
  // A firewall drops what should go through a proxy. A refusal comes from a machine that was reached.
  return { why: `${why}. ${way}`, sent, retryable: /refused/.test(why) };
}

function familyOf(links: readonly unknown[]): Family | undefined {
  const isSaid = ([said]: Family): boolean => links.some((link) => said.test(wordsOf(link)));
  return setup.find(isSaid) ?? connecting.find(isSaid);
}

/** The code, the name and the message, each in a line. */
function wordsOf(link: unknown): string {
  if (typeof link === "string") return link;
  return ["code", "name", "message"].map((name) => safeText(link, name) ?? "").join("\n");
}
