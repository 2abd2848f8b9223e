import { assert, constantFrom, property, stringMatching } from 'fast-check';
import { parse, parseAllDocuments } from 'yaml';
import { expect, test } from 'vitest';
import { isFleetError } from '../../../../bundles/errors.ts';
import { baseRepoFile, pinCommit } from '../../../../scheduler/deliver/kalypso/pin-commit.ts';

const OLD = '5523a85f37d12c0c7c10ab6616644db089fcd6f7';
const NEW = '42f2c201b96055faead8da72a126ec3e8fe30296';
const MAIN = { name: 'main', repo: 'https://git.example/org/control-plane', branch: 'main', path: '.' };
const AT = { file: 'base-repo.yaml' };

test('pinCommit changes the commit and nothing else, for any formatting of the file', () => {
  const text = baseRepoFile(MAIN, OLD);
  expect(pinCommit(text, 'main', NEW, AT)).toBe(baseRepoFile(MAIN, NEW));
  const commented = `# by hand\n${text.replace(OLD, `'${OLD}'   # the pin`)}\n---\nkind: ConfigMap\nmetadata: {name: main}\n`;
  expect(pinCommit(commented, 'main', NEW, AT)).toBe(commented.replace(`'${OLD}'`, NEW));
});

test.each([
  ['without a commit', 'kind: BaseRepo\nmetadata: {name: main}\nspec:\n    repo: r\n    branch: main\n'],
  ['with an empty commit', 'kind: BaseRepo\nmetadata: {name: main}\nspec:\n  commit:\n  repo: r\n'],
  ['as one line', `kind: BaseRepo\nmetadata: {name: main}\nspec: {repo: r, branch: main}\n`],
  ['after another one', `${baseRepoFile({ ...MAIN, name: 'global' }, OLD)}---\n${baseRepoFile(MAIN, OLD)}`],
])('a BaseRepo %s gets the commit', (_, text) => {
  const documents = parseAllDocuments(pinCommit(text, 'main', NEW, AT)).map(
    (one) => one.toJS() as Record<string, never>,
  );
  expect(documents.at(-1)).toMatchObject({ metadata: { name: 'main' }, spec: { commit: NEW } });
  if (documents.length > 1) expect(documents[0]).toMatchObject({ spec: { commit: OLD } });
});

test('pinCommit writes every commit so that it is read back as text', () => {
  assert(
    property(
      stringMatching(/^[0-9a-f]{40}$/),
      constantFrom('1'.repeat(40), `${'1'.repeat(38)}e1`, `0${'7'.repeat(39)}`),
      (any, number) => {
        for (const commit of [any, number]) {
          const text = pinCommit(baseRepoFile(MAIN, OLD), 'main', commit, AT);
          expect(parse(text)).toMatchObject({ spec: { commit } });
        }
      },
    ),
  );
});

test('a BaseRepo inside another document is refused with its position', () => {
  for (const text of ['kind: List\nitems: []\n', 'kind: BaseRepo\nmetadata: {name: main}\nspec: none\n']) {
    const thrown = (() => {
      try {
        return pinCommit(text, 'main', NEW, AT);
      } catch (error) {
        return error;
      }
    })();
    expect(isFleetError(thrown, 'FIELD_INVALID')).toBe(true);
    expect(thrown).toMatchObject({ at: AT });
  }
});
