import { tryGet } from "../lib/safe-get.ts";
import type { BodyText } from "./read-response.ts";
import type { ServiceResponse } from "./service-response.ts";

// Elements that a page, or a part of one, begins with. Names that data has as well, such as <data>, are none.
const elements =
  "html|head|body|title|meta|link|base|script|style|noscript|template|div|p|span|a|h[1-6]|main|section|article|nav|header|footer|aside|form|fieldset|input|button|select|textarea|table|thead|tbody|tr|td|th|ul|ol|li|dl|br|hr|img|svg|iframe|frameset|center|font|b|i|u|strong|em|small|big|pre|blockquote|marquee|dialog|picture|video";
const element = `<(?:${elements})(?=[\\s/>])`;
// In XML these are data as well.
const partStart =
  /^<(?:abbr|acronym|address|applet|area|audio|bdi|bdo|canvas|caption|cite|colgroup|datalist|dd|del|details|dfn|dir|dt|embed|figcaption|figure|frame|hgroup|ins|kbd|label|legend|map|mark|menu|meter|nobr|noframes|object|optgroup|option|progress|q|ruby|s|samp|search|slot|strike|sub|summary|sup|tfoot|tt|var|wbr|xmp|[a-z]\w*-[\w-]*)(?=[\s/>])/i;
const beforeRoot = /^\s*(?:<\?xml[^>]*>\s*|<!--[\s\S]*?-->\s*|<!doctype\s(?!\s*html)[^>]*>\s*)*/i;
const pageStart = new RegExp(`^(?:<!--|<!doctype\\s+html|${element})`, "i");
const markup = new RegExp(`${element}[^<>]*>|</[a-z][\\w:-]*\\s*>`, "i");
// Data of any kind may have a <title> or a <body>; these make a page of it.
const inPages = /<(?:script|div|form|iframe)(?=[\s/>])|<a\s[^<>]*href|w3\.org\/1999\/xhtml/i;
const htmlType = /(?:^|,)\s*(?:text\/html|application\/xhtml)/i;

/** Whether an answer is a page for people, as of a proxy, a login or another site, or a part of one. */
export function isHtmlPage(response: ServiceResponse, { text, isWhole }: BodyText): boolean {
  const type = response.header("content-type") ?? "";
  // A service may call an empty answer or a word HTML: many frameworks do so by default.
  if (htmlType.test(type)) return !isWhole || /[<\ufffd]/.test(text);
  // UTF-16, with or without its mark, is ASCII among these once it is read as UTF-8.
  const plain = text.replace(/[\0\ufeff\ufffd]/g, "");
  const root = plain.replace(beforeRoot, "");
  if (!root.startsWith("<")) return !isJson(plain, isWhole) && markup.test(plain);
  const isXml = /xml/i.test(type) || /^\s*<\?xml/i.test(plain);
  return pageStart.test(root) || inPages.test(root) || (!isXml && partStart.test(root));
}

/** Whether it is JSON, whose texts may hold markup, or the beginning of JSON. */
function isJson(text: string, isWhole: boolean): boolean {
  if (!isWhole) return /^\s*[[{"]/.test(text);
  return tryGet(() => JSON.parse(text)) !== undefined;
}
