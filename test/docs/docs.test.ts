import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Commands } from '#cli/commands';
import { withStandard } from '#cli/run-program';
import { CONFIG_FLAGS } from '../../agent/config/config-flags.ts';
import { COMMANDS as agent } from '../../agent/commands.ts';
import { COMMANDS as exporter } from '../../exporter/commands.ts';
import { COMMANDS as scheduler } from '../../scheduler/commands.ts';

/** What the documentation says can be followed: links lead somewhere, commands and flags are there. */
const ROOT = join(import.meta.dirname, '..', '..');

const SKIPPED = new Set(['node_modules', 'dist', 'coverage']);

const markdownBelow = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name.startsWith('.') || SKIPPED.has(entry.name)) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return markdownBelow(path);
    return entry.name.endsWith('.md') ? [path] : [];
  });

const FILES = markdownBelow(ROOT).map((path) => relative(ROOT, path));
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** Blocks between fences, with their language. */
type Fence = { readonly language: string; readonly text: string };
const FENCE = /^ {0,3}(?:> ?)?```(\w*)\n([\s\S]*?)^ {0,3}(?:> ?)?```$/gm;
const fencesOf = (text: string): readonly Fence[] =>
  [...text.matchAll(FENCE)].map(([, language = '', body = '']) => ({ language, text: body }));

const withoutFences = (text: string): string => text.replaceAll(FENCE, '');
const withoutCode = (text: string): string => withoutFences(text).replaceAll(/`[^`\n]*`/g, '');

const anchors = new Map<string, ReadonlySet<string>>();

/** As GitHub names the anchors of headings. */
const anchorsOf = (file: string): ReadonlySet<string> => {
  const known = anchors.get(file);
  if (known) return known;
  const seen = new Map<string, number>();
  const headings = [...withoutFences(readFileSync(file, 'utf8')).matchAll(/^#{1,6} +(.+?) *#*$/gm)].map(
    ([, heading = '']) => heading,
  );
  const found = new Set(
    headings.map((heading) => {
      const slug = heading
        .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '')
        .replaceAll(' ', '-');
      const times = seen.get(slug) ?? 0;
      seen.set(slug, times + 1);
      return times === 0 ? slug : `${slug}-${times}`;
    }),
  );
  anchors.set(file, found);
  return found;
};

const linksOf = (text: string): readonly string[] =>
  [...withoutCode(text).matchAll(/\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)/g)].map(([, target = '']) => target);

describe.each(FILES)('%s', (file) => {
  const text = read(file);

  it('has relative links that lead to a file and a heading', () => {
    const dead = linksOf(text)
      .filter((target) => !/^[a-z][a-z+.-]*:/.test(target))
      .filter((target) => {
        const [path = '', anchor] = target.split('#');
        const found = path === '' ? join(ROOT, file) : join(ROOT, dirname(file), decodeURI(path));
        if (!existsSync(found)) return true;
        return anchor !== undefined && found.endsWith('.md') && !anchorsOf(found).has(anchor);
      });
    expect(dead).toEqual([]);
  });

  it('calls the programs by name, because npx outside the checkout would ask the public registry', () => {
    expect(
      text.match(/^.*npx (?:fleet-|-y ).*$/gm)?.filter((line) => !line.includes('`npx fleet-')) ?? [],
    ).toEqual([]);
  });

  it("contains no path of a developer's machine", () => {
    expect(text.match(/(?:^|[\s`"'(=:])\/(?:work|tmp|root|home|Users)\/[^\s`]*/g) ?? []).toEqual([]);
  });
});

describe('the map of the documentation', () => {
  it('links every page of docs, except generated pages and single decisions', () => {
    const mapped = new Set(
      linksOf(read('docs/README.md')).map((target) => join('docs', target.split('#')[0] ?? '')),
    );
    const pages = FILES.filter((file) => /^docs\/(?!reference\/|decisions\/|README\.md$)/.test(file));
    expect(pages.length).toBeGreaterThan(40);
    expect(pages.filter((file) => !mapped.has(file))).toEqual([]);
  });
});

const verbs = (name: string, commands: Commands): readonly string[] =>
  Object.keys(withStandard({ name, description: '', commands }));

/** The verbs of each program, 'reports:import' among them. */
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  'fleet-scheduler': verbs('fleet-scheduler', scheduler),
  'fleet-export': verbs('fleet-export', exporter),
  'fleet-agent': verbs('fleet-agent', agent),
};

/** What `--help` says of a verb, as its page has it: reference.test.ts compares the page with the program. */
const helpOf = (program: string, id: string): string => {
  const sections = read(`docs/reference/commands/${program}.md`).split(/^## /m);
  return sections.find((section) => section.startsWith(`${id.replaceAll(':', ' ')}\n`)) ?? '';
};

/** One call of a program, as somebody would type it. */
type Call = { readonly file: string; readonly program: string; readonly words: readonly string[] };

const CALL = /(?:^|[\s(!"'])(fleet-(?:scheduler|export|agent))(?= |$)(.*)$/;

/** Calls in shell text: lines that end in a backslash go on, and a pipe, a semicolon or a comment ends a call. */
const callsIn = (file: string, shell: string): readonly Call[] =>
  shell
    .replaceAll('\\\n', ' ')
    .split('\n')
    .flatMap((line) => line.split(/\|\|?|;|&&|(?<=^|\s)#/))
    .flatMap((part) => {
      const [, program, rest = ''] = CALL.exec(part.trim()) ?? [];
      return program === undefined
        ? []
        : [{ file, program, words: rest.trim().split(/\s+/).filter(Boolean) }];
    });

const SHELLS = new Set(['sh', 'bash', 'shell', 'console']);

const calls: readonly Call[] = FILES.flatMap((file) => {
  const text = read(file);
  const blocks = fencesOf(text).filter(({ language }) => SHELLS.has(language));
  const indented = withoutFences(text).match(/^ {4}fleet-(?:scheduler|export|agent) .*(?:\\\n.*)*$/gm) ?? [];
  // Commands between backquotes in a sentence are typed, too.
  const spans = [...withoutFences(text).matchAll(/`(fleet-(?:scheduler|export|agent) [^`\n]+)`/g)];
  return [
    ...blocks.flatMap((block) => callsIn(file, block.text)),
    ...indented.flatMap((line) => callsIn(file, line)),
    ...spans.flatMap(([, span = '']) => callsIn(file, span)),
  ];
});

/** The longest run of words that is a verb: 'reports import' before 'reports'. */
const verbOf = ({ program, words }: Call): string | undefined => {
  const ids = PROGRAMS[program] ?? [];
  return [3, 2, 1].map((count) => words.slice(0, count).join(':')).find((id) => ids.includes(id));
};

/** The program alone, its flags, or a topic such as 'sites', of which one speaks in a sentence. */
const isTopic = ({ program, words: [first, second] }: Call): boolean =>
  first === undefined ||
  first.startsWith('-') ||
  (second === undefined && PROGRAMS[program]?.some((id) => id.startsWith(`${first}:`)) === true);

const flagsOf = (words: readonly string[]): readonly string[] =>
  words.flatMap((word) => /^["'([]*(--[a-z][a-z0-9-]*)/.exec(word)?.[1] ?? []);

const ALWAYS = new Set(['--help', '--version', '--json']);

/** Flags of kubectl, git, cosign, ansible-galaxy, ansible-playbook and of an example container that the documentation names alone. */
const FOREIGN_FLAGS = new Set([
  '--validate',
  '--upload-pack',
  '--new-bundle-format',
  '--offline',
  '--check',
  '--option',
  // cosign
  '--certificate-identity',
  '--certificate-oidc-issuer',
  // install.sh
  '--cluster-admin',
  '--print',
  // Helm
  '--reset-then-reuse-values',
  '--reuse-values',
  // Flux's controllers
  '--default-service-account',
  '--no-cross-namespace-refs',
]);

describe('commands in the documentation', () => {
  it('are found, for all three programs', () => {
    expect(calls.length).toBeGreaterThan(40);
    expect(new Set(calls.map(({ program }) => program)).size).toBe(3);
  });

  it('are verbs of the programs', () => {
    const unknown = calls
      .filter((call) => verbOf(call) === undefined && !isTopic(call))
      .map(({ file, program, words }) => `${file}: ${program} ${words.join(' ')}`);
    expect(unknown).toEqual([]);
  });

  it('use in prose only flags that a program has', () => {
    const known = new Set(
      Object.keys(PROGRAMS).flatMap((name) =>
        [...read(`docs/reference/commands/${name}.md`).matchAll(/--(?:\[no-\])?([a-z][a-z0-9-]*)/g)].map(
          ([, flag = '']) => flag,
        ),
      ),
    );
    const unknown = FILES.filter((file) => !/^docs\/(?:reference|decisions)\//.test(file)).flatMap((file) =>
      [...withoutFences(read(file)).matchAll(/`(--[a-z][a-z0-9-]*)[^`\n]*`/g)]
        .map(([, flag = '']) => flag)
        .filter((flag) => !known.has(flag.replace(/^--(?:no-)?/, '')) && !known.has(flag.slice(2)))
        .filter((flag) => !ALWAYS.has(flag) && !FOREIGN_FLAGS.has(flag))
        .map((flag) => `${file}: ${flag}`),
    );
    expect(unknown).toEqual([]);
  });

  const used = Map.groupBy(
    calls.filter((call) => verbOf(call) !== undefined),
    (call) => `${call.program} ${verbOf(call)}`,
  );

  it.each([...used.keys()])('have flags that the help of the verb lists: %s', (key) => {
    const [program = '', id = ''] = key.split(' ');
    const help = helpOf(program, id);
    expect(help).not.toBe('');
    for (const { file, words } of used.get(key) ?? []) {
      for (const flag of flagsOf(words)) {
        if (ALWAYS.has(flag) || (program === 'fleet-agent' && flag.slice(2) in CONFIG_FLAGS)) continue;
        // '--[no-]read-back' stands for both.
        const shown = new RegExp(`--(?:\\[no-\\])?${flag.replace(/^--(?:no-)?/, '')}(?![a-z-])`);
        expect(help, `${file}: ${key} ${flag}`).toMatch(shown);
      }
    }
  });
});
