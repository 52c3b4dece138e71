import { growth } from "@reporthook/test-support/growth";
import {
  answering,
  clientOf,
  failures,
  key,
  operations,
  serve,
} from "@reporthook/test-support/service-calls";
import { describe, expect, it } from "vitest";
import { createClient } from "./client.ts";
import { isHtmlPage } from "./html-page.ts";
import type { ServiceResponse } from "./service-response.ts";

const login = "<div>Please log in</div>";
const page = "<!DOCTYPE html>\n<html><body>Bitte anmelden: Müller</body></html>";
const swapped = (text: string): Buffer => Buffer.from(text, "utf16le").swap16();

/** A server that answers 200 with these bytes. */
const bytes = (type: string, body: Buffer): Promise<string> =>
  serve((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": type }).end(body);
  });

describe("pages", () => {
  it.each<[string, string, Buffer | string]>([
    ["text with a link, called HTML", "text/html", "Please <a href=/login>sign in</a>"],
    [
      "text with a tag that is none, called text and HTML",
      "text/plain, text/html",
      "Please <sign in",
    ],
    ["no UTF-8, called HTML", "text/html", "\ufeff\ufffd\ufffd"],
    ["a head without a type", "", "<head><title>Sign in"],
    ["a script without a type", "", "<script>location='/login'</script>"],
    ["XHTML without a type", "", '<?xml version="1.0"?>\n<!DOCTYPE html><html>'],
    ["a comment without a type or an end", "", "<!-- proxy"],
    ["a part of a page, called text", "text/plain", login],
    ["a link, called bytes", "application/octet-stream", '<p><a href="/login">Log in</a>'],
    ["a link after text", "text/plain", 'Please <a href="/login">log in</a>'],
    ["a heading after a blank line", "", "\r\n\t<H1>Sign in</H1>"],
    ["a part of a page after a comment", "text/xml", `<!-- proxy -->${login}`],
    ["a part of a page, called JSON", "application/json", login],
    ["text that no element begins", "text/plain", "Sign in</body></html>"],
    ["elements of an app", "", "<app-root></app-root><script src=app.js></script>"],
    ["a page with a prefix", "text/xml", '<x:html xmlns:x="http://www.w3.org/1999/xhtml"/>'],
    ["a label", "text/plain", "<label>Password <input type=password></label>"],
    ["a disclosure", "text/plain", "<details><summary>Log in</summary></details>"],
    ["typewriter text", "text/plain", "<tt>Please log in</tt>"],
    ["text for browsers without frames", "", "<noframes>Log in</noframes>"],
    ["a row of a foot", "application/octet-stream", "<tfoot>Log in</tfoot>"],
    ["an element of an app", "", "<login-box></login-box>"],
    ["an element of an app after text", "text/plain", "Log in: <login-box></login-box>"],
    [
      "a figure, called JSON",
      "application/json",
      "<figure><figcaption>Log in</figcaption></figure>",
    ],
    ["a legend after text", "text/plain", "Please wait <legend>Log in</legend>"],
    ["a redirect of a browser", "", '<meta http-equiv=refresh content="0;url=/login">'],
    ["braces that are no JSON", "", `{{ greeting }} ${login}`],
    ["UTF-16 of a little endian", "text/plain", Buffer.from(page, "utf16le")],
    ["UTF-16 of a little endian with its mark", "", Buffer.from(`\ufeff${page}`, "utf16le")],
    ["UTF-16 of a big endian", "application/octet-stream", swapped(page)],
    ["UTF-16 of a big endian with its mark", "text/html; charset=utf-16", swapped(`\ufeff${page}`)],
    ["a part of a page in UTF-16", "text/plain", Buffer.from(login, "utf16le")],
    ["Latin-1", "text/plain", Buffer.from(`Für Müller: ${login}`, "latin1")],
  ])("authorize() has no verdict when a 200 brings a page: %s", async (_, type, body) => {
    const baseUrl = await bytes(type, Buffer.from(body as string));
    const [error] = await failures({ baseUrl }, operations({ baseUrl }).slice(0, 1));
    expect(error).toMatchObject({ code: "service_failed", serviceStatus: 200 });
    expect(error.message).toMatch(/answered 200 with an HTML page/);
  });

  it.each<[string, string, string]>([
    ["nothing, called HTML", "text/html", ""],
    ["a word, called HTML", "text/html", "OK"],
    ["JSON, called HTML", "text/html", '{"ok":true}'],
    ["OK", "text/plain", "OK"],
    ["an empty object", "application/json", "{}"],
    ["nothing", "application/octet-stream", ""],
    ["markup in JSON", "application/json", `{"message":"${login}"}`],
    ["markup in JSON that is called text", "text/plain", `["${login}"]`],
    ["a text of JSON", "application/json", `"${login}"`],
    ["XML", "text/xml", '<?xml version="1.0"?><!-- v1 --><response><ok/></response>'],
    ["XML with a head and a body", "", "<response><head/><body>valid</body></response>"],
    ["XML with a type", "", '<!DOCTYPE result SYSTEM "r.dtd"><result>ok</result>'],
    ["an envelope", "text/xml", '<s:Envelope xmlns:s="urn:x"><s:Body/></s:Envelope>'],
    ["data", "application/xml", "<data><status>ok</status></data>"],
    ["XML with names of a page", "text/xml", "<details><label>ok</label></details>"],
    ["declared XML with a hyphen", "", '<?xml version="1.0"?><auth-result>ok</auth-result>'],
    ["XML with a hyphen", "application/vnd.example+xml", "<auth-result>ok</auth-result>"],
    ["data, called text", "text/plain", "<data><status>ok</status></data>"],
    ["an envelope, called text", "", '<soap-env:Envelope xmlns:soap-env="urn:x"/>'],
    ["less and more", "text/plain", "1 < 2, 3 > 2, <ok@example.com>"],
  ])("authorize() has its verdict when a 200 brings %s", async (_, type, body) => {
    const client = createClient({ baseUrl: await bytes(type, Buffer.from(body)), apiKey: key });
    await expect(client.authorize("s")).resolves.toBe("valid");
  });

  it("authorize() has its verdict when a 200 brings JSON that is cut", async () => {
    const baseUrl = await answering(200, {}, `{"message":"${login.repeat(9_000)}"}`);
    await expect(clientOf({ baseUrl }).authorize("s")).resolves.toBe("valid");
  });

  it("isHtmlPage() needs four times as long for four times as much, for any beginning of a page", () => {
    const response = { header: () => null } as unknown as ServiceResponse;
    const beginnings = ["<!doctype ", "<?xml ", "<!-- ", "<a ", "</a ", "<", "x</a-"];
    const times = growth((length) => {
      for (const [at, unit] of [" ", "<", "-", "</a", "<!doctype "].entries()) {
        const text = beginnings.map((begin) => begin + unit.repeat(length / unit.length));
        for (const each of text) isHtmlPage(response, { text: each, isWhole: at % 2 === 0 });
      }
    });
    expect(times(4_000)).toBeLessThan(10);
  });
});
