import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import type { ChartCall } from './chart-calls.ts';

/** TEMPLATE_FAILED from helm's error output, which names the template, line and column inside its sentence. */
export const helmFailed = (errors: string, shown: string, subject: string): FleetError => {
  const lines = errors
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^(?:WARNING|level=|time=)/.test(line));
  const at = Math.max(
    0,
    lines.findIndex((line) => line.startsWith('Error:')),
  );
  // Several findings, as of a values schema, follow on separate lines.
  const said = (
    lines[at]?.endsWith(':') ? lines.slice(at).join(' ') : (lines[at] ?? 'it gave no reason')
  ).replace(/^Error: /, '');
  const [, file, line, column] =
    /(?:template: |\(|parse error at \()[^\s:()/]+\/([^\s:()]+):(\d+)(?::(\d+))?/.exec(said) ?? [];
  const detail = said
    .replace(/^.*execution error at \([^)]*\): /, '')
    .replace(/^.*?: executing "[^"]*" at /, 'at ')
    .slice(0, 1000);
  return new FleetError('TEMPLATE_FAILED', `helm could not render it: ${detail}`, {
    subject,
    at:
      file !== undefined
        ? defined({
            file: `${shown}${file}`,
            line: Number(line),
            column: column ? Number(column) : undefined,
          })
        : undefined,
    hint: /missing in charts\/ directory/.test(said)
      ? 'Run helm dependency build and commit charts/: nothing is fetched while rendering'
      : undefined,
  });
};

/** TEMPLATE_FAILED for a chart whose two renderings differ. Names the functions of the template that cause it, where they are known. */
export const unstable = (
  first: Buffer,
  second: Buffer,
  {
    shown,
    subject,
    calls,
  }: { readonly shown: string; readonly subject: string; readonly calls: readonly ChartCall[] },
): FleetError => {
  const [one, two] = [first.toString('utf8').split('\n'), second.toString('utf8').split('\n')];
  const at = Math.max(
    0,
    one.findIndex((line, index) => line !== two[index]),
  );
  const template = one.slice(0, at + 1).findLast((line) => line.startsWith('# Source: '));
  // Usually a generated password: the key helps to find it.
  const key = /^[\s-]*([\w./-]{1,80}):/.exec(one[at] ?? '')?.[1];
  const where = key === undefined ? `line ${at + 1} of its output` : JSON.stringify(key);
  const file = `${shown}${template?.replace(/^# Source: [^/]*\//, '') ?? ''}`;
  const varying = calls.filter(({ name }) => name !== 'lookup');
  // A helper of another file may call it.
  const inFile = varying.filter((call) => call.at.file === file);
  const named = inFile.length > 0 ? inFile : varying;
  const names = [...new Set(named.map(({ name }) => name))];
  const by = names.length > 0 ? ` (the chart calls ${names.join(', ')})` : '';
  return new FleetError('TEMPLATE_FAILED', `the chart renders differently each time: ${where} differs${by}`, {
    subject,
    at: inFile[0]?.at ?? { file },
    hint: 'Set the generated value (a password, a certificate, the time), or name an existing Secret: a rebuild must give the same bytes',
  });
};

export const badReleaseName = (name: string, longest: number, subject: string): FleetError =>
  new FleetError(
    'FIELD_INVALID',
    `${JSON.stringify(name)} is not the name of a Helm release: at most ${longest} of a-z, 0-9, "-" and "."`,
    { subject, hint: 'Give manifests a releaseName' },
  );
