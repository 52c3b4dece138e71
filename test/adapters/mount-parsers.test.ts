import { mountContract } from "@reporthook/testing";
import { describe, test } from "vitest";
import { served, socketHost } from "./hosts/mount.ts";
import { type Parser, parserHosts, path } from "./hosts/parsers.ts";

const json: readonly Parser[] = ["express.json()", "express.json() that keeps rawBody"];
const bytes: readonly Parser[] = ["express.raw()", "express.text()"];
const koa: readonly Parser[] = ["koa-bodyparser", "@koa/bodyparser", "koa-body"];
const hono: readonly Parser[] = ["c.req.json()", "a validator"];
const readers: readonly Parser[] = [...json, ...bytes, ...koa, ...hono];
const rewriters: readonly Parser[] = ["express.json()", "koa-body"];
const decoders: readonly Parser[] = ["express.json()", "express.text()", ...koa, ...hono];

const signed = (body: string): string => `a signed body is stored and accepted: ${body}`;
const unsigned = (body: string): string => `an unsigned body is accepted or refused: ${body}`;
const either = (body: string): string[] => [signed(body), unsigned(body)];

// The cases of the contract that fail behind a parser. Its own answers are listed in parsers.test.ts.
const taken: readonly (readonly [reason: string, parsers: readonly Parser[], cases: string[]])[] = [
  [
    "the parser takes objects and arrays only",
    [...json, ...koa],
    ["null", "a number", "a string"].flatMap(either),
  ],
  ["the parser refuses what is not JSON", [...json, ...koa, ...hono], either("half a JSON text")],
  ["the parser refuses it", koa, either("__proto__ and constructor as keys")],
  ["reading nothing as JSON fails ahead", hono, either("nothing")],
  ["reading gzip as JSON fails ahead", hono, either("gzip")],
  ["the parser unpacks it", [...json, ...bytes, ...koa], [signed("gzip")]],
  [
    "the parser's own limit is 100 KB",
    [...json, ...bytes],
    ["100,000 nested arrays", "40,000 nested objects"].flatMap(either),
  ],
  [
    "what is parsed nests too deeply to be written as JSON again",
    ["koa-body"],
    [signed("100,000 nested arrays"), signed("40,000 nested objects")],
  ],
  ["the parser replaces what is not UTF-8", decoders, either("invalid UTF-8")],
  ["the parser drops the byte order mark", decoders, [signed("a byte order mark")]],
  [
    "what is parsed is written as JSON again, without its white space and double keys",
    rewriters,
    [
      signed("a key given twice"),
      "200 duplicate when the same bytes come again with the same signature",
    ],
  ],
  [
    "the parser of Express 4 looks at it first",
    [...json, ...bytes, "express.urlencoded()"],
    ["the body is stored where something ahead has a getter for it that throws"],
  ],
  [
    "Hono takes what is kept for the body",
    hono,
    ["keeps its beginning only", "has made an empty rawBody, as bytes"].map(
      (what) => `the body is stored where something ahead ${what}`,
    ),
  ],
  [
    "the parser reads the body, by its own limits",
    readers,
    [
      "408 body_timeout for a body that stops half-way",
      "413 body_too_large while a body of unknown length is read",
      "413 body_too_large by content-length reaches a sender that goes on sending",
      "413 body_too_large reaches the sender of an unsigned chunked body, and the next request is answered",
      "a body that is cut off is not stored, and the next one is",
      "200 accepted for a request that is half sent when the server is shut down",
    ],
  ],
];

function skipBehind(parser: Parser): Record<string, string> {
  const skip: Record<string, string> = {
    "500 body_unavailable when something ahead consumed the body": "the parser keeps the body",
  };
  for (const [reason, parsers, cases] of taken) {
    if (parsers.includes(parser)) for (const name of cases) skip[name] ??= reason;
  }
  return skip;
}

const hosts = parserHosts.flatMap(({ name, parser, serve }) =>
  parser === null
    ? []
    : [[name, socketHost("post", (to) => served(serve(to), path), skipBehind(parser))] as const],
);

describe.concurrent.each(hosts)("%s", (_name, host) => {
  for (const { name, run, skip } of mountContract(host)) if (skip === undefined) test(name, run);
});
