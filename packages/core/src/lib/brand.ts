type ErrorClass = abstract new (...args: never[]) => Error;

/**
 * Has `instanceof` hold for errors of another copy of this package, too, as a bundle beside an external one brings it: by a
 * brand, which all copies share. It throws for nothing, not even for a revoked proxy.
 */
export function brand(of: ErrorClass, name: string): void {
  const key = Symbol.for(`reporthook.${name}`);
  Object.defineProperty(of.prototype, key, { value: true });
  Object.defineProperty(of, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      try {
        // A class that extends it has no brand.
        if (this !== of) return Function.prototype[Symbol.hasInstance].call(this, value);
        return typeof value === "object" && value !== null && key in value;
      } catch {
        return false;
      }
    },
  });
}
