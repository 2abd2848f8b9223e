import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { authoredWithExamples, type Properties, platformSchema, type Schema } from './author-schemas.ts';
import { CLIENT, generateClient } from './generate-client.ts';
import { openApi } from './generate-openapi.ts';
import { indexOf, pageOf, pages } from './reference-pages.ts';

/**
 * `npm run reference`: writes docs/schemas/author, docs/reference, docs/openapi.json and the client of the hub's API. Objects come from
 * author-schemas.ts, docs/reference/commands from generate-commands.ts, docs/openapi.json from generate-openapi.ts.
 */

const DOCS = import.meta.dirname;

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** With one line for each definition: they are in files of their own, for people to read. */
const jsonByDefinition = ({ $defs, ...rest }: Schema): string => {
  const lines = Object.entries($defs as Properties).map(
    ([name, one]) => `    ${JSON.stringify(name)}: ${JSON.stringify(one)}`,
  );
  return json(rest).replace(/\n\}\n$/, `,\n  "$defs": {\n${lines.join(',\n')}\n  }\n}\n`);
};

/** Every generated file, by its path below docs. */
export const generate = (): ReadonlyMap<string, string> => {
  const schemas = authoredWithExamples();
  const all = pages(schemas);
  return new Map([
    ...schemas.map(({ name, schema }) => [`schemas/author/${name}.schema.json`, json(schema)] as const),
    ['schemas/author/platform.schema.json', jsonByDefinition(platformSchema(schemas))] as const,
    ['openapi.json', json(openApi())] as const,
    ['reference/README.md', indexOf(all)] as const,
    ...all.map((page) => [`reference/${page.file}.md`, pageOf(page)] as const),
  ]);
};

/** Folders with nothing but generated files. */
const isGenerated = (file: string): boolean =>
  /^schemas\/author\/.*\.json$|^reference\/(?:commands\/)?[^/]*\.md$/.test(file);

/** Generated files that are there, by their path below docs. */
export const generated = (): readonly string[] => [
  'openapi.json',
  CLIENT,
  ...['schemas/author', 'reference', 'reference/commands'].flatMap((folder) =>
    readdirSync(join(DOCS, folder))
      .map((name) => `${folder}/${name}`)
      .filter(isGenerated),
  ),
];

if (import.meta.main) {
  for (const folder of ['schemas/author', 'reference/commands'])
    mkdirSync(join(DOCS, folder), { recursive: true });
  const { generateCommands } = await import('./generate-commands.ts');
  const write = (files: ReadonlyMap<string, string>): void => {
    for (const [path, text] of files) {
      mkdirSync(dirname(join(DOCS, path)), { recursive: true });
      writeFileSync(join(DOCS, path), text);
    }
  };
  const files = new Map([...generate(), ...(await generateCommands())]);
  write(files);
  // It reads docs/openapi.json.
  const client = await generateClient();
  write(client);
  for (const stale of generated()) if (!files.has(stale) && !client.has(stale)) rmSync(join(DOCS, stale));
}
