// Controls of C0 and C1, of the direction of text, and what ends a line.
const steering = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/**
 * Escapes text from outside for a terminal, a log or JSON, the way JSON does: control characters, marks that turn the direction
 * of text, and line breaks; `kept` names characters that stay.
 */
export function printable(text: string, kept = ""): string {
  return text.replace(steering, (char) => {
    const json = JSON.stringify(char).slice(1, -1);
    // JSON leaves some as they are.
    const hex = char.charCodeAt(0).toString(16).padStart(4, "0");
    return kept.includes(char) ? char : json === char ? `\\u${hex}` : json;
  });
}

/** The fields of a log line, their texts and lists of texts {@link printable}. */
export function printableFields(
  fields: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const shown = (value: unknown): unknown =>
    typeof value === "string" ? printable(value) : Array.isArray(value) ? value.map(shown) : value;
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, shown(value)]));
}
