// Modules are called as one imports them, @reporthook/core/node, on pages called core-node: no page may have the name of a
// folder of others.
import { Converter, RendererEvent } from "typedoc";

/** Loaded by typedoc. */
export function load(app) {
  app.converter.on(Converter.EVENT_CREATE_DECLARATION, (_context, reflection) => {
    const [, name, entry] = /^(\w+)\/src(?:\/(\w+))?$/.exec(reflection.name) ?? [];
    if (name !== undefined) reflection.name = [name, entry].filter(Boolean).join("-");
  });
  app.renderer.on(RendererEvent.BEGIN, ({ project }) => {
    for (const module of project.children) {
      module.name = `@reporthook/${module.name.replace("-", "/")}`;
    }
  });
}
