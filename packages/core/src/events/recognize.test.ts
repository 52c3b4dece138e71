import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { eventTypeOf, type JsonObject, Recognizer, recognize, toObject } from "./recognize.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const unknown = { type: "unknown", reportId: null };
const complete = (reportId: string | null) => ({
  type: "report.complete",
  status: "complete",
  reportId,
});
const confirmation = "Your endpoint works";

describe("objects", () => {
  it("toObject() gives a JSON object", () => {
    expect(toObject(bytes('\ufeff{"a":[1,"é"]}'))).toEqual({ a: [1, "é"] });
  });

  it.each(["", "nope", "[]", '"text"', "1", "null", "true", '{"a":1', "{'a':1}"])(
    "toObject() gives null for %j",
    (text) => expect(toObject(bytes(text))).toBeNull(),
  );

  it("toObject() gives null for bytes that are not UTF-8", () => {
    expect(toObject(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d))).toBeNull();
  });

  it("toObject() never throws, and gives an object or null", () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), fc.json().map(bytes)), (given) => {
        const value = toObject(given);
        expect(value === null || (typeof value === "object" && !Array.isArray(value))).toBe(true);
      }),
    );
  });
});

describe("types", () => {
  it("eventTypeOf() gives the wire's own text only", () => {
    expect(eventTypeOf({ event_type: "x" })).toBe("x");
    expect(eventTypeOf({ event_type: 1 })).toBeNull();
    expect(eventTypeOf(Object.create({ event_type: "inherited" }) as JsonObject)).toBeNull();
  });
});

describe("recognition", () => {
  it("recognize() knows the test notification", () => {
    const body = { event_type: "test_webhook_endpoint", payload: confirmation };
    const expected = { type: "test_webhook_endpoint", payload: confirmation, reportId: null };
    expect(recognize(body, {})).toEqual(expected);
  });

  it.each<[JsonObject, object]>([
    [{ status: "complete", report_id: "r" }, complete("r")],
    [{ status: "complete", reportId: "r" }, complete("r")],
    [{ status: "complete", id: "r" }, complete("r")],
    [{ status: "complete", id: "x", reportId: "y", report_id: "z" }, complete("z")],
    [{ status: "complete", report_id: "", id: 17 }, complete("17")],
    [{ status: "complete", report_id: null, id: {} }, complete(null)],
    [{ payload: { status: "complete", id: "r" } }, complete("r")],
    [{ report: { status: "complete", id: "r" } }, complete("r")],
    [{ data: { status: "complete", id: "r" } }, complete("r")],
    [{ id: "outside", data: { status: "complete" } }, complete(null)],
    [{ payload: "complete", report_id: "r" }, complete("r")],
    [{ status: "sent", payload: { status: "complete", id: "r" } }, complete("r")],
    [{ event_type: "test_webhook_endpoint", payload: { status: "complete" } }, complete(null)],
    [
      { status: "processing" },
      { ...complete(null), type: "report.processing", status: "processing" },
    ],
    [
      { status: "internal_error" },
      { ...complete(null), type: "report.internal_error", status: "internal_error" },
    ],
    [{ status: "Complete" }, unknown],
    [{ status: ["complete"] }, unknown],
    [{ payload: [{ status: "complete" }] }, unknown],
    [{ other: { status: "complete" } }, unknown],
    [{}, unknown],
  ])("recognize() takes %j by the table", (body, expected) => {
    expect(recognize(body, {})).toEqual(expected);
  });

  it("recognize() asks parse before the table, and after the test notification", () => {
    const headers = { "content-type": "application/json" };
    const body = { status: "processing" };
    const seen: unknown[] = [];
    const recognized = recognize(body, headers, (given) => {
      seen.push(given);
      return { type: "report", status: "complete", reportId: "r" };
    });
    expect(recognized).toEqual(complete("r"));
    expect(seen).toEqual([{ body, headers }]);
    const test = { event_type: "test_webhook_endpoint", payload: confirmation };
    const parse = () => ({ type: "unknown" }) as const;
    expect(recognize(test, headers, parse).type).toBe("test_webhook_endpoint");
  });

  it.each<[answer: unknown, expected: object]>([
    [null, complete("r")],
    [undefined, complete("r")],
    [{ type: "unknown" }, unknown],
    [{ type: "report.complete" }, complete(null)],
    [{ type: "report.complete", reportId: "" }, complete(null)],
    [{ type: "report.complete", reportId: 5 }, complete("5")],
  ])("recognize() takes %j from parse", (answer, expected) => {
    const body = { status: "complete", report_id: "r" };
    expect(recognize(body, {}, () => answer as never)).toEqual(expected);
  });

  it.each([
    { type: "report" },
    { type: "report", status: "done" },
    { type: "report.done" },
    { type: "report_complete" },
    { type: "report.complete", status: "processing" },
    { type: "test_webhook_endpoint" },
    { status: "complete" },
    { type: 5 },
    { type: "report.complete", reportId: 1.5 },
    { type: "report.complete", reportId: 2 ** 53 },
    { type: "report", status: "complete", reportId: {} },
    true,
  ])("recognize() throws a TypeError when parse answers %j", (answer) => {
    expect(() => recognize({}, {}, () => answer as never)).toThrow(/^parse answered/);
  });

  it("recognize() says what parse answered also when JSON can't hold it", () => {
    for (const parsed of [{ type: 1n }, { type: "report", status: { bytes: 1n } }]) {
      expect(() => recognize({}, {}, () => parsed as never)).toThrow(/^parse answered type/);
    }
  });

  it("recognize() never throws on any JSON", () => {
    const word = fc.constantFrom("complete", "test_webhook_endpoint", "processing", "r");
    const value = fc.oneof(word, fc.jsonValue(), fc.record({ status: word, id: fc.jsonValue() }));
    const names = [
      "status",
      "payload",
      "report",
      "data",
      "event_type",
      "report_id",
      "id",
      "__proto__",
    ];
    const body = fc.dictionary(fc.constantFrom(...names), value);
    fc.assert(
      fc.property(body, (given) => {
        const { type, reportId } = recognize(given as JsonObject, {});
        expect(type).toMatch(
          /^(test_webhook_endpoint|unknown|report\.(processing|complete|internal_error))$/,
        );
        expect(reportId === null || typeof reportId === "string").toBe(true);
      }),
    );
  });

  it("recognize() takes no test notification for a report, with any other fields", () => {
    const rest = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(
        rest,
        fc.string(),
        fc.constantFrom("complete", "processing"),
        (more, text, status) => {
          const test = { event_type: "test_webhook_endpoint" };
          for (const payload of [text, status]) {
            const body = { ...more, status, report: { status }, ...test, payload };
            const parse = () => ({ type: "report", status: "complete" }) as const;
            expect(recognize(body, {}, parse).type).toBe("test_webhook_endpoint");
          }
        },
      ),
    );
  });
});

let last = 0;
const sourceOf = (text: string) => ({
  id: String(++last),
  body: new TextEncoder().encode(text),
  headers: {},
});
const completeText = '{"status":"complete","report_id":"r-1"}';

function make() {
  const parse = vi.fn(() => null);
  return { parse, recognizer: new Recognizer(parse) };
}

describe("Recognizer", () => {
  it("a recognizer reads a body once for the verdict and the handlers", () => {
    const { parse, recognizer } = make();
    const source = sourceOf(completeText);
    const read = recognizer.recognize(source);
    expect(read?.recognition).toMatchObject({ type: "report.complete", reportId: "r-1" });
    expect(recognizer.take(source)).toBe(read);
    expect(parse).toHaveBeenCalledTimes(1);
  });

  it("a recognizer gives each attempt a new object", () => {
    const { recognizer } = make();
    const source = sourceOf(completeText);
    recognizer.recognize(source);
    const first = recognizer.take(source);
    const second = recognizer.take(source);
    expect(second).toEqual(first);
    expect(second?.object).not.toBe(first?.object);
  });

  it("a recognizer does not share an object between equal bodies", () => {
    const { recognizer } = make();
    const first = recognizer.recognize(sourceOf(completeText));
    expect(recognizer.take(sourceOf(completeText))?.object).not.toBe(first?.object);
  });

  it("a recognizer gives null for a body that is no JSON object", () => {
    for (const text of ["", "[]", "{"])
      expect(make().recognizer.recognize(sourceOf(text))).toBeNull();
  });

  it.each([
    ["the latest 32", completeText, 32],
    ["none over 16 KiB", completeText.padEnd(16_385), 0],
  ])("a recognizer keeps %s", (_name, text, kept) => {
    const { parse, recognizer } = make();
    const sources = Array.from({ length: 40 }, () => sourceOf(text));
    for (const source of sources) recognizer.recognize(source);
    parse.mockClear();
    for (const source of sources.reverse()) recognizer.take(source);
    expect(parse).toHaveBeenCalledTimes(40 - kept);
  });

  it("a recognizer throws the error of parse, and keeps nothing", () => {
    const parse = vi.fn(() => {
      throw new RangeError("no");
    });
    const recognizer = new Recognizer(parse);
    const source = sourceOf(completeText);
    expect(() => recognizer.recognize(source)).toThrow(RangeError);
    expect(() => recognizer.take(source)).toThrow(RangeError);
  });
});
