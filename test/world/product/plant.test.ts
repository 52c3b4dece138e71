import { expect, it } from "vitest";
import { plant } from "./plant.ts";

const code = `const many = 2;

export async function ask<T>(
  first: T,
): Promise<void> {
  await ask(first);
  again(first);
}

class Asker {
  async #again(x: number): Promise<void> {
    if (x > 1) {
      again(x);
    }
  }
}
`;

it("plant() replaces the value of a constant, the body of a function and that of a method", () => {
  expect(plant(code, { of: "many", becomes: "3" })).toContain("const many = 3;\n");
  expect(plant(code, { of: "ask", becomes: "  return;" })).toContain(
    "): Promise<void> {\n  return;\n}\n\nclass",
  );
  expect(plant(code, { of: "#again", becomes: "    x++;" })).toContain(
    "Promise<void> {\n    x++;\n  }\n}",
  );
});

it("plant() plants nothing where the name is not that of one definition", () => {
  expect(() => plant(code, { of: "again", becomes: "" })).toThrow("0 functions or constants");
  const twice = `${code}const many = 4;\n`;
  expect(() => plant(twice, { of: "many", becomes: "" })).toThrow("2 functions or constants");
});
