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
  {
    found:
      /(?<!\bthere )\b(?:is|are) no (?:\w+ )?(?:name|key|unit|version|commit|address|object|pointer|number|digest|certificate)\b(?! (?:for|in|of|on|at|to|with|yet|left))/i,
    write: 'is not a name, is not a commit ...',
    example: 'this is no unit name',
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

/** Wording that the titles of tests do not use, beside WORDINGS: a title names the subject, the condition and the result. */
const TITLE_WORDINGS: readonly Wording[] = [
  {
    found: /\b(?:says?|said) (?:so|what|why|which|who|how|where|when|that)\b/i,
    write: 'the message, code or field: "names the line", "is refused as EXPIRED"',
    example: 'leaves it alone and says why',
  },
  { found: /\b(?:told|telling)\b/i, write: 'reported, logged, printed', example: 'is told once' },
  {
    found: /\bwhat (?:it|they) (?:was|were|is|are)\b/i,
    write: 'the thing itself',
    example: 'says what it was',
  },
  { found: /\bas (?:it is|they are|ever)\b/i, write: 'unchanged', example: 'leaves it as it is' },
  { found: /\bg(?:oes|o|oing) on\b/i, write: 'continues, resumes', example: 'goes on after that' },
  {
    found: /\b(?:whatever|wherever|however)\b/i,
    write: 'any, in any order, for any',
    example: 'the same whatever the order',
  },
  { found: /\bone sentence\b/i, write: 'one message', example: 'is refused in one sentence' },
  {
    found: /\bwho (?:has|asks?|does|takes|wants)\b/i,
    write: 'name the actor',
    example: 'a base for who has it',
  },
  { found: /\band no more\b/i, write: 'name the other case', example: 'the first and no more' },
  { found: /\b(?:takes?|took|taken) up\b/i, write: 'accepts, applies', example: 'takes up a release' },
  { found: /\banew\b/i, write: 'again', example: 'is planned anew' },
  { found: /\blets? go of\b/i, write: 'removes, releases', example: 'lets go of a bundle' },
  {
    found: /\b(?:puts?|sets?) (?:it |them |this |that )?right\b/i,
    write: 'corrects',
    example: 'puts it right',
  },
  { found: /\bat home\b/i, write: 'at the office, at the hub', example: 'is reported at home' },
  { found: /\ball the same\b/i, write: 'although', example: 'is corrected all the same' },
  { found: /(?<!\bUSB )\bsticks?\b/i, write: 'medium', example: 'a stick without a release' },
];

/** Titles of the attack table, whose words are fixed. */
const ATTACK = /^[A-Z]\d{1,2}\b|->/;

const TITLE =
  /(?<![\w.])(?:it|test|describe)[\w.]*(?:\([^'"`\n]*\))?\(\s*(?:\[[^\]\n]*\],\s*)?(['"`])((?:\\.|(?!\1).)*)\1|^\s*\](?: as const)?\)\(\s*(['"`])((?:\\.|(?!\3).)*)\3/gm;

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
  /^bundles\/schemas\//,
];

/** Names of declarations that a reader has to decode, and the terms of the field. */
const NAMES: readonly Wording[] = [
  {
    found: /^(?:say|tell|told|bring|give)[A-Z]/,
    write: 'describe..., format... or report... for texts, fetch... for content',
    example: 'sayLeaving',
  },
  {
    found: /^make(?!\w*Due$)[A-Z]/,
    write: 'create..., or makeDue and its like for what is due',
    example: 'makeSender',
  },
  {
    found: /(?:^|_)(?:MOST|LEAST|LONGEST|SHORTEST|TELLING)(?:_|$)/,
    write: 'MAX_..., MIN_..., with the unit',
    example: 'MOST_READ',
  },
  {
    found:
      /^wish$|Wish$|^(?:Token|Site|Set|Reseal|Archive|Recheck|Follower)Order$|Freight$|^[Mm]ood(?:Of)?$|Aside$|^(?:about|note|check)Glass$|[Tt]respass/,
    write: '...Request, ...Options; TransferCounts; Tone; OnThread; BreakGlass; Violation',
    example: 'PromoteWish',
  },
  {
    found:
      /^(?:lame|rescuers?|impatience|patience|PATIENCE(?:_MS)?|stamina|seldom|shelf|mould|parcels?)$|InVain$|^givers|^told$/,
    write: "the field's term: unmetDependencies, retryBudget, timeout, repository, cache, batch",
    example: 'impatience',
  },
  {
    found: /^(?:whatHolds|whatOf|whoOf|whenOf|isThere|isAlike|isHere|wayOut|inTheWay|curedBy|stepAside)$/,
    write: 'the fact that it returns: finalizersOf, exists, suggestFix',
    example: 'wayOut',
  },
];

/** Beginnings and words that keep the title of a decision from saying what was decided. */
const DECISIONS: readonly Wording[] = [
  {
    found: /^(?:What|Who|Whose|Nothing|One way)\b/,
    write: 'a sentence about the decided thing',
    example: 'What libraries do not do',
  },
  {
    found: /\bby us\b|\bby accident\b|\bto be believed\b|\bis the library's\b/,
    write: 'name the actor',
    example: 'are read by us',
  },
  { found: /\bsticks?\b/, write: 'medium', example: 'A name on a stick' },
  { found: /\.$/, write: 'no full stop', example: 'Ajv checks every schema.' },
];

/** Words of schemas that only the authors of this repository understand. */
const DESCRIPTIONS: readonly Wording[] = [
  {
    found: /^(?:What|Whatever|Who|Whoever) /,
    write: 'a noun: Facts that the agent read',
    example: 'What ends it.',
  },
  { found: /\bvouch/i, write: 'confirms, signs', example: 'nothing vouches for it' },
  { found: /\bthis stick\b|\bsticks, /, write: 'volume, medium', example: 'Those on this stick.' },
  {
    found: /\bthe order (?:for|wants)\b|\bfirst order\b/,
    write: 'site statement',
    example: 'before the first order',
  },
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

/** Sources of the programs, without those that a tool writes. */
const sources = texts.filter(
  ([file, [first = '']]) =>
    /^(?:agent|bundles|cli|exporter|scheduler)\/.*\.tsx?$/.test(file) &&
    !first.startsWith('// Generated by '),
);

/** A comment, or the title of a test. */
const SAID_BY_TESTS = /^\s*(?:\*|\/\*\*|\/\/)|^\s*(?:it|test|describe|row)(?:\.[a-z]+)*\(|^\s*\]?\)\('/;

const tests = readdirSync(join(ROOT, 'test'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && entry.name !== 'voice.test.ts')
  .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
  // The words of the attack table are fixed.
  .filter((file) => !file.startsWith('test/attacks/'))
  .map((file) => [file, readFileSync(join(ROOT, file), 'utf8').split('\n')] as const);

const decisions = readdirSync(join(ROOT, 'docs/decisions'))
  .filter((name) => /^\d{4}-/.test(name))
  .map((name) => readFileSync(join(ROOT, 'docs/decisions', name), 'utf8'))
  .map((text) => /^# \d+\. (.+)$/m.exec(text)?.[1] ?? text);

const descriptionsIn = (node: unknown): readonly string[] => {
  if (typeof node !== 'object' || node === null) return [];
  const own = 'description' in node && typeof node.description === 'string' ? [node.description] : [];
  return [...own, ...Object.values(node).flatMap(descriptionsIn)];
};

const descriptions = ['bundles/schemas', 'docs/schemas']
  .flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.json'))
      .map((entry) => relative(ROOT, join(entry.parentPath, entry.name))),
  )
  .flatMap((file) =>
    descriptionsIn(JSON.parse(readFileSync(join(ROOT, file), 'utf8'))).map((text) => ({ file, text })),
  );

const titles = tests
  .filter(([file]) => !/\/attack-table/.test(file))
  .flatMap(([file, lines]) =>
    [...lines.join('\n').matchAll(TITLE)].map((match) => [file, match[2] ?? match[4] ?? ''] as const),
  )
  .filter(([, title]) => !ATTACK.test(title));

describe('the wording of comments, messages and documentation', () => {
  it('covers more than 1,000 files', () => {
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

  it('finds more than 5,000 titles of tests', () => {
    expect(titles.length).toBeGreaterThan(5000);
  });

  it.each(TITLE_WORDINGS)('avoids $found in titles of tests', ({ found, write }) => {
    expect(
      titles.filter(([, title]) => found.test(title)).map(([place, title]) => `${place}: ${title}`),
      `write instead: ${write}`,
    ).toEqual([]);
  });

  it('calls a USB stick a medium, or a volume of a set, in comments of the programs', () => {
    const stick = /(?<![/`'\w.-])sticks?(?![`\w-]|'(?!s))/i;
    const places = sources
      .filter(([file]) => file.endsWith('.ts'))
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
    const places = sources.flatMap(([file, lines]) =>
      [...lines.join('\n').matchAll(riddle)].map(([found]) => `${file}: ${found.trim()}`),
    );
    expect(places, "write instead: what it is or does, with the field's term").toEqual([]);
  });

  it('names a declaration by what it describes, compares or records', () => {
    const vague = /^(?:export )?(?:const|type) (?:describe|isSame|tell[A-Z]\w*)\b/gm;
    const places = sources.flatMap(([file, lines]) =>
      [...lines.join('\n').matchAll(vague)].map(([found]) => `${file}: ${found}`),
    );
    expect(places, 'write instead: describeRelease, isSameItem, recordChecks').toEqual([]);
  });

  it.each(NAMES)('declares no name like $example', ({ found, write }) => {
    const declared = /\b(?:const|let|function|type|interface|class) (\w+)/g;
    const places = sources.flatMap(([file, lines]) =>
      lines.flatMap((line, index) =>
        [...line.replace(/\/\/.*|^\s*\/?\*.*/, '').matchAll(declared)]
          .filter(([, name = '']) => found.test(name))
          .map(([, name]) => `${file}:${index + 1}: ${name}`),
      ),
    );
    expect(places, `write instead: ${write}`).toEqual([]);
  });

  it.each(DECISIONS)('titles no decision like "$example"', ({ found, write }) => {
    expect(
      decisions.filter((title) => found.test(title)),
      `write instead: ${write}`,
    ).toEqual([]);
  });

  it('titles each decision as the list of decisions does', () => {
    const list = readFileSync(join(ROOT, 'docs/decisions/README.md'), 'utf8');
    expect(decisions.length).toBeGreaterThan(39);
    expect(decisions.filter((title) => !list.includes(`| ${title} |`))).toEqual([]);
  });

  it.each([...WORDINGS, ...DESCRIPTIONS])(
    'describes no field of a schema like "$example"',
    ({ found, write }) => {
      expect(
        descriptions.filter((entry) => found.test(entry.text)).map(({ file, text }) => `${file}: ${text}`),
        `write instead: ${write}`,
      ).toEqual([]);
    },
  );

  it('reads the descriptions of all schemas', () => {
    expect(new Set(descriptions.map(({ file }) => file)).size).toBeGreaterThan(60);
    expect(descriptions.length).toBeGreaterThan(800);
  });

  it.each([...WORDINGS, ...TITLE_WORDINGS, ...NAMES, ...DECISIONS, ...DESCRIPTIONS])(
    'would find "$example"',
    ({ found, example }) => {
      expect(example).toMatch(found);
    },
  );
});
