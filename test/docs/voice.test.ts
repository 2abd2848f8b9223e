import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

/** Wording that this repository does not use in comments, messages and documentation, and the wording to use instead. */
const ROOT = join(import.meta.dirname, '..', '..');

type Wording = { readonly found: RegExp; readonly write: string; readonly example: string };

const WORDINGS: readonly Wording[] = [
  {
    found: /\b(?:is|are|was|were|be|been) told\b/i,
    write: 'reported, logged, listed or passed; "by default" for "unless told otherwise"',
    example: 'What is wrong with it is told later.',
  },
  {
    found: /\bwhoever\b/i,
    write: 'name the actor: the caller, the reader, a client',
    example: 'for whoever asks',
  },
  {
    found: /(?<!\bthere )\b(?:is|are) none\b(?! of)/i,
    write: 'is not valid, is missing, is not a ...',
    example: 'the age identity is none',
  },
  {
    found: /\bby (?:itself|themselves)\b/i,
    write: 'automatically, alone or separately',
    example: 'It tries again by itself.',
  },
  { found: /\bstands? in for\b/i, write: 'replaces, is used instead of', example: 'what stands in for it' },
  { found: /@throws those of/i, write: 'the error codes by name', example: '@throws those of readFile' },
  { found: /\bmerely\b/i, write: 'only, or nothing', example: 'It merely waits.' },
  { found: /\bheld against\b/i, write: 'checked against, compared with', example: 'held against its digest' },
  { found: /\bonce more\b/i, write: 'again', example: 'checked once more' },
  { found: /\bput right\b/i, write: 'corrected', example: 'drift is put right' },
  { found: /\bof our doing\b/i, write: 'ours', example: 'files of our doing' },
  {
    found: /\b(?:site's orders?|orders? (?:of|for) (?:the|this|its|that|other) sites?)\b/i,
    write: 'site statement',
    example: "the site's order",
  },
];

const FOLDERS = [
  'agent',
  'bench',
  'bundles',
  'bundling',
  'cli',
  'deploy',
  'docs',
  'examples',
  'exporter',
  'scheduler',
];

/** Normative text, records of decisions, and the attack table, whose words are fixed. */
const FIXED = [
  /^docs\/bundle-format\.md$/,
  /^docs\/decisions\//,
  /^docs\/attacks\.md$/,
  /^docs\/schemas\/.*\.json$/,
];

const TEXT = /\.(?:ts|js|md|ya?ml|service|svg)$/;

const files = [
  'README.md',
  'CONTRIBUTING.md',
  ...FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && TEXT.test(entry.name))
      .map((entry) => relative(ROOT, join(entry.parentPath, entry.name))),
  ),
].filter((file) => !FIXED.some((pattern) => pattern.test(file)));

const texts = files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8').split('\n')] as const);

/** A comment, or the title of a test. */
const SAID_BY_TESTS = /^\s*(?:\*|\/\*\*|\/\/)|^\s*(?:it|test|describe|row)(?:\.[a-z]+)*\(|^\s*\]?\)\('/;

const tests = readdirSync(join(ROOT, 'test'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && entry.name !== 'voice.test.ts')
  .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
  // The words of the attack table are fixed.
  .filter((file) => !file.startsWith('test/attacks/'))
  .map((file) => [file, readFileSync(join(ROOT, file), 'utf8').split('\n')] as const);

describe('the wording of comments, messages and documentation', () => {
  it('is looked for in all of them', () => {
    expect(files.length).toBeGreaterThan(1000);
  });

  it.each(WORDINGS)('avoids $found', ({ found, write }) => {
    const places = texts.flatMap(([file, lines]) =>
      lines.flatMap((line, index) => (found.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
    );
    expect(places, `write instead: ${write}`).toEqual([]);
  });

  it.each(WORDINGS)('avoids $found in comments and titles of tests', ({ found, write }) => {
    const places = tests.flatMap(([file, lines]) =>
      lines.flatMap((line, index) =>
        SAID_BY_TESTS.test(line) && found.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [],
      ),
    );
    expect(places, `write instead: ${write}`).toEqual([]);
  });

  it('calls a USB stick a medium, or a volume of a set, in comments of the programs', () => {
    const stick = /(?<![/`'\w.-])sticks?(?![`\w-]|'(?!s))/i;
    const places = texts
      .filter(([file]) => /^(?:agent|bundles|cli|exporter|scheduler)\/.*\.ts$/.test(file))
      .flatMap(([file, lines]) =>
        lines.flatMap((line, index) => {
          const comment = /^\s*(?:\*|\/\*\*|\/\/)(?! @param sticks? ).*/.exec(line)?.[0] ?? '';
          return stick.test(comment) ? [`${file}:${index + 1}: ${line.trim()}`] : [];
        }),
      );
    expect(places).toEqual([]);
  });

  it('begins docstrings of the programs with a noun or a verb', () => {
    const riddle = /^ *\/\*\*\s+(?:\* )?(?:What|Whatever|Who|Whoever) /gm;
    const places = texts
      .filter(([file]) => /^(?:agent|bundles|cli|exporter|scheduler)\/.*\.tsx?$/.test(file))
      .flatMap(([file, lines]) =>
        [...lines.join('\n').matchAll(riddle)].map(([found]) => `${file}: ${found.trim()}`),
      );
    expect(places, "write instead: what it is or does, with the field's term").toEqual([]);
  });

  it.each(WORDINGS)('would find "$example"', ({ found, example }) => {
    expect(example).toMatch(found);
  });
});
