import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import type { Plugin } from 'rolldown';

/** What our modules read beside themselves, from the checkout's root. */
const FILES: Readonly<Record<string, string>> = {
  'scheduler/hub/http/readers/reader-routes.ts': 'docs/openapi.json',
  'scheduler/load/init/author-schemas.ts': 'docs/schemas/author/platform.schema.json',
  'scheduler/load/init/init-platform.ts': 'scheduler/load/init/scaffold',
  'scheduler/load/platform/built-in-templates.ts': 'scheduler/load/templates',
  'scheduler/plan/validate/kubernetes/facts.ts': 'scheduler/plan/validate/kubernetes/facts.jsonl',
};

/** JSON that only programs read: without the line breaks and spaces of the checkout, which are a third of it. */
const FOR_PROGRAMS: ReadonlySet<string> = new Set(['docs/openapi.json']);

const copyCompact = (from: string, to: string): void => {
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(to, JSON.stringify(JSON.parse(readFileSync(from, 'utf8'))));
};

/** Built for each bundle, by a plugin of its own (page-beside.ts). */
const BUILT = new Set(['scheduler/hub/http/page-routes.ts']);

/** Modules that read the bundle and the files that are copied for other modules: nothing is copied for them. */
const READS_COPIED = new Set(['scheduler/assemble/kept/program-digest.ts']);

/** oclif wants to know where a program lies, and reads nothing there. */
const PLACE_ONLY = 'cli/load-config.ts';

/**
 * Lays the files that a bundled module reads beside the bundle, where they lie to each other as in the checkout, and tells the
 * module. One that is not in the list fails the build: it would look in vain.
 */
export const filesBeside = (root: string, out: string): Plugin => {
  const needed = new Set<string>();
  return {
    name: 'files-beside',
    transform: {
      filter: { code: 'import.meta.' },
      handler: (code, id) => {
        const module = relative(root, id).split(sep).join('/');
        if (!isAbsolute(id) || module.startsWith('..') || module.includes('node_modules/')) return null;
        if (module === PLACE_ONLY) return null;
        const file = FILES[module];
        if (file === undefined && !BUILT.has(module) && !READS_COPIED.has(module))
          throw new Error(
            `${module} asks where it lies, and bundling/files-beside.ts does not know what for`,
          );
        if (file !== undefined) needed.add(file);
        return code
          .replaceAll(
            'import.meta.dirname',
            `(import.meta.dirname + ${JSON.stringify(`/${dirname(module)}`)})`,
          )
          .replaceAll('import.meta.url', `new URL(${JSON.stringify(`./${module}`)}, import.meta.url)`);
      },
    },
    writeBundle: () => {
      for (const file of needed) {
        if (FOR_PROGRAMS.has(file)) copyCompact(join(root, file), join(out, file));
        else cpSync(join(root, file), join(out, file), { recursive: true });
      }
    },
  };
};
