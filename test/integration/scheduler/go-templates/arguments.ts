import * as fc from 'fast-check';
import { findFunction } from '../../../../scheduler/render/go/functions/functions.ts';

/** Arguments a function can do something with, and some it cannot. */

const TEXTS = [
  '""',
  '"abc"',
  '"a,b,,c"',
  '"a"',
  '"Grüße, 世界 🚀"',
  '"  two  words "',
  '"yes"',
  '"5"',
  '"0042"',
  '"-3.7"',
  '"1e3"',
  '"inf"',
  '"line one\\nline two\\n"',
  '"<a href=\\"x\\">&\'"',
  '"tab\\there"',
  '"some_snake-case HTTPServer2x"',
  '"%s %d"',
  '"a.b.c"',
  '`raw "x" \\n`',
  '.ClusterType',
  '.ConfigData.url',
  '.ConfigData.text',
  '.ConfigData.unicode',
  '.ConfigData.quoted',
  '.Manifests.path',
  '(index .Labels "use-case")',
  '$.Workload',
] as const;

const SMALL_INTS = [
  '0',
  '1',
  '2',
  '3',
  '5',
  '10',
  '-1',
  '-3',
  '17',
  '(len "four")',
  '.ConfigData.five',
  '(atoi "7")',
] as const;

const NUMBERS = [
  ...SMALL_INTS,
  '9223372036854775807',
  '-9223372036854775808',
  '4294967296',
  '0x1F',
  '1_000',
  "'x'",
  '1.5',
  '0.1',
  '2.0',
  '-0.5',
  '1e21',
  '1e-7',
  '123456.789',
  '1e6',
  '.ConfigData.big',
  '.ConfigData.huge',
  '.ConfigData.half',
  '.ConfigData.whole',
  '.ConfigData.million',
  '.ConfigData.tiny',
  '(int64 4)',
  '(add 1 2)',
  '(float64 3)',
] as const;

const LISTS = [
  '.ConfigData.list',
  '.ConfigData.numbers',
  '.ConfigData.mixed',
  '.ConfigData.none',
  '.ConfigData.nested.list',
  '(list)',
  '(list 1 "a" nil 2.5)',
  '(list "b" "a" "b" 10 9)',
  '(splitList "," "x,y,z")',
  '(until 3)',
  '(rest (list))',
  '(sortAlpha (list "b" "a"))',
  '(list (list 1) (list))',
  '(list 1 (int64 1) 1.0 "1" true)',
] as const;

const MAPS = [
  '.ConfigData.nested',
  '.ConfigData.nested.a',
  '.ConfigData.hollow',
  '.Labels',
  '.ConfigData.odd',
  '(dict)',
  '(dict "a" 1 "b" (dict "c" "d"))',
  '(dict "name" "x" "list" (list 1 2) "n" nil)',
  '(split "/" "a/b/c")',
  '(dict "" 1 "a.b" 2 "ä" 3 "a10" 4 "a9" 5)',
  '(dict "scheme" "https" "host" "h:1" "path" "/a b" "query" "q=1")',
] as const;

const OTHERS = [
  'nil',
  'true',
  'false',
  '.',
  '$',
  '.ConfigData.nope',
  '.ConfigData.nothing',
  '.ConfigData.nope.x',
  '.ConfigData.yes',
] as const;

const PATTERNS = [
  '"[a-z]+"',
  '"^a"',
  '"b*"',
  '"(a)(b)?"',
  '"(?P<w>\\\\w+)"',
  '"(?i)ABC"',
  '"\\\\s+"',
  '"[^a-c,]"',
  '","',
  '""',
  '"a{2,}"',
  '"\\\\pL+"',
  '"(?m)^line"',
  '"."',
] as const;

const LAYOUTS = [
  '"2006-01-02"',
  '"2006-01-02T15:04:05Z07:00"',
  '"Mon, 02 Jan 2006 15:04:05 MST"',
  '"Monday, January _2 2006 at 3:04PM"',
  '"2006-01-02 15:04:05.000"',
  '"02.01.06 03:04:05,999 pm -0700"',
  '"2006 002 __2"',
  '"Z070000 -07:00:00 Z07 -07"',
  '"Month Jan Janus 15h"',
  '""',
  '"_2006"',
] as const;
const DATES = [
  '"2026-11-21"',
  '"2024-02-29"',
  '"2023-02-29"',
  '"2026-11-21T18:19:20Z"',
  '"2026-11-21T18:19:20.123456789+02:00"',
  '"Sat, 21 Nov 2026 18:19:20 UTC"',
  '"Fri, 01 Jan 1999 00:00:00 CET"',
  '"Friday, march  3 2000 at 12:04AM"',
  '"2026-11-21 18:19:20.5"',
  '"2026-11-21 18:19:20.125"',
  '"2024 060 060"',
  '"nonsense"',
] as const;
const TIMES = [
  '(toDate "2006-01-02" "2026-11-21")',
  '(toDate "2006-01-02T15:04:05Z07:00" "1969-12-31T23:59:59.5-07:00")',
  '(toDate "2006-01-02" "x")',
  '0',
  '1700000000',
  '-1',
  '(int64 951782400)',
] as const;
const DURATIONS = [
  '"1h"',
  '"-1h30m0.5s"',
  '"1.5us"',
  '"3ns"',
  '"24h"',
  '"1h2"',
  '""',
  '"0"',
  '"100000h"',
  '"µs"',
  '"2.25ms"',
] as const;
const VERSIONS = [
  '"1.2.3"',
  '"v1.2"',
  '"2"',
  '"1.2.3-beta.1"',
  '"1.2.3-beta.11+build"',
  '"1.2.3-rc"',
  '"01.2.3"',
  '"x"',
  '""',
  '"1.10.0"',
  '"0.0.1"',
] as const;
const CONSTRAINTS = [
  '"1.2.3"',
  '">= 1.2, < 2"',
  '"~1.2"',
  '"^1.2.x"',
  '"~> 1"',
  '"!=1.x"',
  '"1.2 - 1.4.5"',
  '">1.2.3-alpha || =2"',
  '"*"',
  '"<= 1.x"',
  '"=> 1.2.3-beta.2"',
  '"^0.0.0"',
  '"1.x.x"',
  '"bad"',
  '">=1.2 <2"',
] as const;
const URLS = [
  '"http://user:pa%20ss@host.example:8080/a%20b/c?q=1&r=%3C#frag%20x"',
  '"mailto:a@b.example"',
  '"//host/path"',
  '"/only/path"',
  '"rel:at/ive"',
  '"a/b:c"',
  '"https://[::1]:80/x"',
  '"https://ho st/"',
  '"http://h/%zz"',
  '"*"',
  '"?q"',
  '"HTTP://EXAMPLE/Ä?ä#ä"',
  '"https://h:port/"',
  '".ConfigData.url"',
  '"postgres://a,b:1,c:2/db"',
] as const;
const B64 = [
  '"aGVsbG8="',
  '"aGVsbG8"',
  '""',
  '"====" ',
  '"NBSWY3DP"',
  '"w6Q="',
  '"/////w=="',
  '"aGVs\\nbG8="',
] as const;
const JSONS = [
  '`{"a":[1,2.5,"x",null,true]}`',
  '`[1e6,{"b":{}}]`',
  '`"text"`',
  '`12`',
  '`{`',
  '``',
  '`{"a":1,"a":2}`',
] as const;
const FORMATS = [
  '"%v"',
  '"%s|%d"',
  '"%5.2f|%-8s|%08d"',
  '"%q %x %X"',
  '"%T %t"',
  '"%+d % d %#x %#v"',
  '"%e %g %G %.3g"',
  '"%c %U %b %o %O"',
  '"%[2]v %[1]v"',
  '"%*d"',
  '"%.3s|%6.1s|%+q"',
  '"100%% %"',
  '"%!"',
  '"%[5]d %z"',
  '"%-010d|%+.2e|%6v"',
] as const;
const KINDS = [
  '"string"',
  '"int"',
  '"int64"',
  '"float64"',
  '"slice"',
  '"map"',
  '"bool"',
  '"invalid"',
  '"[]string"',
  '"[]interface {}"',
  '"map[string]interface {}"',
] as const;
const PATHS = [
  '"a/b/c.txt"',
  '"/a/../b/"',
  '"."',
  '""',
  '"a//b/./c"',
  '"../../x.tar.gz"',
  '"/"',
  '"dir/.hidden"',
] as const;

const pick = (from: readonly string[]): fc.Arbitrary<string> => fc.constantFrom(...from);

/** What a parameter is best given, by function; other parameters go by their kind. */
const SPECIAL: Readonly<Record<string, readonly (readonly string[] | undefined)[]>> = {
  date: [LAYOUTS, TIMES],
  dateInZone: [LAYOUTS, TIMES, ['"UTC"', '""', '"Local"', '"No/Where"']],
  date_in_zone: [LAYOUTS, TIMES, ['"UTC"']],
  htmlDate: [TIMES],
  htmlDateInZone: [TIMES, ['"UTC"', '"x"']],
  toDate: [LAYOUTS, DATES],
  mustToDate: [LAYOUTS, DATES],
  dateModify: [DURATIONS, TIMES],
  date_modify: [DURATIONS, TIMES],
  mustDateModify: [DURATIONS, TIMES],
  must_date_modify: [DURATIONS, TIMES],
  unixEpoch: [TIMES],
  duration: [['"95"', '"0"', '"x"', '(int64 3661)', '(int64 -5)', '7', '"86400"']],
  durationRound: [[...DURATIONS, '(int64 90000000000)', '"48h"', '"8761h"']],
  semver: [VERSIONS],
  semverCompare: [CONSTRAINTS, VERSIONS],
  urlParse: [URLS],
  b64dec: [B64],
  b32dec: [B64],
  fromJson: [JSONS],
  mustFromJson: [JSONS],
  printf: [FORMATS],
  kindIs: [KINDS],
  typeIs: [KINDS],
  typeIsLike: [KINDS],
  base: [PATHS],
  dir: [PATHS],
  clean: [PATHS],
  ext: [PATHS],
  isAbs: [PATHS],
  osBase: [PATHS],
  osDir: [PATHS],
  osClean: [PATHS],
  osExt: [PATHS],
  osIsAbs: [PATHS],
  ternary: [undefined, undefined, ['true', 'false', '.ConfigData.yes']],
  hash: [[...TEXTS, ...LISTS, ...NUMBERS, '.ConfigData.nested', '.Labels']],
  fail: [['"because"']],
};

const KINDS_OF: Readonly<Record<string, readonly string[]>> = {
  string: TEXTS,
  int: SMALL_INTS,
  bool: ['true', 'false', '.ConfigData.yes', '(eq 1 1)'],
  list: LISTS,
  map: MAPS,
};

const ANY = [...TEXTS, ...NUMBERS, ...LISTS, ...MAPS, ...OTHERS] as const;

const MATH =
  /^(?:add1?f?|subf?|mulf?|divf?|mod|max|min|maxf|minf|biggest|int|int64|float64|ceil|floor|round|toDecimal)$/;
const LIST_FIRST = /^(?:join|has|mustHas|toStrings|sortAlpha|len|index|slice)$/;

const kindOfParameter = (name: string, index: number): readonly string[] => {
  const special = SPECIAL[name]?.[index];
  if (special) return special;
  if (/regex/i.test(name) && index === 0 && name !== 'regexQuoteMeta') return PATTERNS;
  const fn = findFunction(name);
  const kind = fn?.parameters[index] ?? fn?.rest ?? 'any';
  if (kind === 'any' && MATH.test(name)) return NUMBERS;
  if (kind === 'any' && LIST_FIRST.test(name)) return [...LISTS, ...TEXTS.slice(0, 4), ...MAPS.slice(0, 2)];
  return KINDS_OF[kind] ?? ANY;
};

/** Would a large number here take the memory of the machine? Then no other than the small ones is tried. */
const isDangerous = (name: string, index: number): boolean =>
  /^(?:until|untilStep|seq|repeat|indent|nindent|wrap|wrapWith|chunk|mustChunk|round|split.*|printf|regex.*|mustRegex.*)$/.test(
    name,
  ) && (findFunction(name)?.parameters[index] ?? findFunction(name)?.rest) === 'int';

/** Go would change the map in place, for everything that comes after, or make it hold itself, which ends the oracle. */
const isChanged = (name: string, index: number): boolean => index === 0 && /^(?:un)?set$|[mM]erge/.test(name);

const FRESH = MAPS.filter((text) => text.startsWith('(dict'));

/** Is only a chosen argument tried here? */
export const isChosen = (name: string, index: number): boolean =>
  isChanged(name, index) || isDangerous(name, index);

/** Arguments of a call, `nested` being for other calls in parentheses. */
export const argumentsOf = (name: string, nested: fc.Arbitrary<string>): fc.Arbitrary<readonly string[]> => {
  const fn = findFunction(name);
  const fixed = fn?.parameters.length ?? 1;
  const count =
    fn?.rest === undefined && fn
      ? fc.oneof(
          { weight: 60, arbitrary: fc.constant(fixed) },
          { weight: 1, arbitrary: fc.constant(fixed + 1) },
        )
      : fc.integer({ min: fixed, max: fixed + 3 });
  return count.chain((length) =>
    fc.tuple(
      ...Array.from({ length }, (_unused, index) => {
        if (isChanged(name, index)) return pick(FRESH);
        return isDangerous(name, index)
          ? pick(SMALL_INTS)
          : fc.oneof(
              { weight: 40, arbitrary: pick(kindOfParameter(name, index)) },
              { weight: 4, arbitrary: nested },
              { weight: 1, arbitrary: pick(name === 'printf' && index === 0 ? FORMATS : ANY) },
            );
      }),
    ),
  );
};

export const LEAVES: readonly string[] = ANY;
export const RANGED: readonly string[] = [
  ...LISTS,
  ...MAPS,
  ...SMALL_INTS,
  'nil',
  '"text"',
  '.ConfigData.nope',
  '1.5',
  '(int64 2)',
];
