import { expect, test } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { aptRepository, type Deb } from '../../../../../scheduler/assemble/content/debs/apt-repository.ts';
import { memoryContent } from '../../../../../scheduler/assemble/content/memory-content.ts';
import { CONTROL, makeDeb, read } from '../make-deb.ts';

const at = { file: 'package.yaml', line: 3, column: 5 };
const debOf = async (control: string): Promise<Deb> => {
  const bytes = makeDeb(control);
  return { content: memoryContent(bytes, 'a test'), control: await read(bytes), at };
};

test('aptRepository writes an index with a paragraph for each package: path, size and SHA-256', async () => {
  const [hello, other] = [await debOf(CONTROL), await debOf(CONTROL.replace('hello', 'abc'))];
  const { packages, release, debs } = aptRepository([hello, other], 'scale');
  expect(debs.map(({ file }) => file)).toEqual(['abc_2.10-3_amd64.deb', 'hello_2.10-3_amd64.deb']);
  const [first, second, ...rest] = packages.toString().split('\n\n');
  expect(rest).toEqual([]);
  expect(first).toContain('Package: abc\n');
  expect(second).toBe(
    `${CONTROL}Filename: ./hello_2.10-3_amd64.deb\nSize: ${hello.content.size}\nSHA256: ${hexOf(hello.content.digest)}\n`,
  );
  expect(release.toString()).toContain(`\n ${hexOf(digestOf(packages))} ${packages.length} Packages\n`);
});

test('aptRepository writes the same bytes for any order of the packages', async () => {
  const debs = [await debOf(CONTROL), await debOf(CONTROL.replace('hello', 'abc'))];
  const [one, two] = [aptRepository(debs, 'scale'), aptRepository(debs.toReversed(), 'scale')];
  expect(one.packages).toEqual(two.packages);
  expect(one.release).toEqual(two.release);
});

test('aptRepository keeps an epoch in the index, and omits it in the file name', async () => {
  const { packages, debs } = aptRepository([await debOf(CONTROL.replace('2.10-3', '1:2.10-3'))], 'scale');
  expect(debs[0]?.file).toBe('hello_2.10-3_amd64.deb');
  expect(packages.toString()).toContain('Version: 1:2.10-3\n');
});

test('aptRepository lists a repeated package once, and refuses another one with the same name and version', async () => {
  const hello = await debOf(CONTROL);
  expect(aptRepository([hello, hello], 'scale').debs).toHaveLength(1);
  const changed = await debOf(`${CONTROL}Section: misc\n`);
  expect(() => aptRepository([hello, changed], 'scale')).toThrow(
    'hello_2.10-3_amd64.deb is there twice with other content, first at package.yaml:3:5',
  );
});
