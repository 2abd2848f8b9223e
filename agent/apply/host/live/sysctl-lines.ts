/** A line of a sysctl.d file that sets a value (sysctl.d(5)). */
export type SysctlLine = {
  /** As the file writes it, without the dash of a line that may fail. */
  readonly name: string;
  /** Path below /proc/sys; a pattern where `isPattern`. */
  readonly path: string;
  readonly value: string;
  /** `-name = value`: systemd ignores its failure. */
  readonly mayFail: boolean;
  /** The name has *, ? or [ and stands for every parameter that matches. */
  readonly isPattern: boolean;
};

/** The line at each index of the text; undefined for comments and for exclusions (`-name`). */
export const sysctlLines = (text: string): readonly (SysctlLine | undefined)[] =>
  text.split('\n').map((line) => {
    const [, dash, name, value] = /^\s*(-?)([^-#;=\s/.][^=\s]*)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (name === undefined || value === undefined) return undefined;
    const isPattern = /[*?[]/.test(name);
    return { name, path: pathOf(name), value: words(value), mayFail: dash === '-', isPattern };
  });

/** The separator that comes first decides: a.b/c is a/b.c below /proc/sys, a/b.c is itself. */
const pathOf = (name: string): string =>
  /[./]/.exec(name)?.[0] === '.' ? name.replaceAll(/[./]/g, (found) => (found === '.' ? '/' : '.')) : name;

/** The words of a value with one space between; the kernel prints several values with tabs. */
export const words = (text: string): string => text.trim().split(/\s+/).join(' ');

/**
 * True if the kernel reads `wanted` as the value that it prints as `live`: integers of any base that strtoul knows (0x10, 020), and
 * fewer integers than it has, which sets the first ones only (`kernel.printk = 3`).
 */
export const isSameValue = (wanted: string, live: string): boolean => {
  if (wanted === live) return true;
  const integers = wanted.split(' ').map(integerOf);
  const printed = live.split(' ').map(integerOf);
  return (
    integers.length <= printed.length &&
    integers.every((integer, at) => integer !== undefined && integer === printed[at]) &&
    printed.every((integer) => integer !== undefined)
  );
};

const integerOf = (word: string): bigint | undefined => {
  const [, sign, hex, octal, decimal] = /^([-+]?)(?:0x([0-9a-f]+)|0([0-7]+)|(0|[1-9]\d*))$/i.exec(word) ?? [];
  const digits = (hex && `0x${hex}`) ?? (octal && `0o${octal}`) ?? decimal;
  if (digits === undefined) return undefined;
  return sign === '-' ? -BigInt(digits) : BigInt(digits);
};

/** The file without the lines that set these names; the others keep their line numbers. */
export const withoutNames = (bytes: Buffer, names: ReadonlySet<string>): Buffer => {
  const text = bytes.toString('utf8');
  const lines = sysctlLines(text);
  const kept = text.split('\n').map((line, at) => (names.has(lines[at]?.name ?? '') ? '' : line));
  return names.size === 0 ? bytes : Buffer.from(kept.join('\n'));
};
