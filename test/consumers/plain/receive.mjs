import * as core from "@reporthook/core";
import * as emulator from "@reporthook/emulator";
import * as sqlite from "@reporthook/sqlite";
import scenario from "./scenario.cjs";

await scenario({ core, emulator, sqlite });
