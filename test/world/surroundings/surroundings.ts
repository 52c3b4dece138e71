import type { Ledger } from "../ledger.ts";
import type { Product } from "../product/product.ts";
import type { Setup } from "../setup.ts";
import type { Chance } from "./chance.ts";
import type { Disk } from "./disk.ts";
import type { Service } from "./service.ts";
import type { Time } from "./time.ts";

/** The surroundings of an app. */
export interface Surroundings {
  readonly time: Time;
  readonly ledger: Ledger;
  readonly service: Service;
  readonly disk: Disk;
  readonly product: Product;
  readonly setup: Setup;
  /** The source of the randomness that the product asks for. */
  readonly chance: Chance;
}
