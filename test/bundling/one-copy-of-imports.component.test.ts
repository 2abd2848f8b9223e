import { runInThisContext } from 'node:vm';
import { rolldown } from 'rolldown';
import { expect, it } from 'vitest';
import { oneCopyOfImports } from '../../bundling/one-copy-of-imports.ts';

type Program = (exports: object) => { readonly answer: () => Promise<unknown> };

/** Bundles main.mjs with the others as one file, and calls what it exports. */
const answerOf = async (files: Readonly<Record<string, string>>): Promise<unknown> => {
  const build = await rolldown({
    input: '/main.mjs',
    plugins: [
      {
        name: 'files',
        resolveId: (source) => (source.startsWith('/') ? source : null),
        load: (id) => files[id] ?? null,
      },
      oneCopyOfImports(),
    ],
  });
  const { output } = await build.generate({ format: 'cjs', codeSplitting: false });
  const program = runInThisContext(`(function (exports) {${output[0].code}\nreturn exports; })`) as Program;
  return await program({}).answer();
};

const MAIN =
  "export const answer = async () => [(await import('/one.mjs')).seen, (await import('/two.mjs')).seen];";

it('gives all modules that import a CommonJS module one object with its exports', async () => {
  const importing = "import * as shared from '/shared.cjs'; export const seen = shared;";
  const [one, two] = (await answerOf({
    '/main.mjs': MAIN,
    '/one.mjs': importing,
    '/two.mjs': importing,
    '/shared.cjs': 'exports.value = 1;',
  })) as readonly object[];
  expect(one).toMatchObject({ value: 1, default: { value: 1 } });
  expect(two).toBe(one);
});

it('gives a module what another exports later than its first import', async () => {
  const answer = await answerOf({
    '/main.mjs': MAIN,
    '/one.mjs':
      "import * as shared from '/shared.cjs'; export const seen = shared.late; shared.default.late = 2;",
    '/two.mjs': "import * as shared from '/shared.cjs'; export const seen = shared.late;",
    '/shared.cjs': 'exports.value = 1;',
  });
  expect(answer).toEqual([undefined, 2]);
});
