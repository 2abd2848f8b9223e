import { describe, expect, test } from 'vitest';
import { FleetError, formatError } from '#bundles/errors';
import { assembleHost } from '../../../../../scheduler/assemble/bundle/host/assemble-host.ts';
import { noAccess } from '../../content/no-access.ts';
import { clusterType, renderedFiles, renderedPackage, target } from '../../../model-objects.ts';

const at = { file: 'workload.yaml', line: 7, column: 7 };

const rendered = (files: Readonly<Record<string, string>>) =>
  renderedPackage(
    clusterType('press', { target: 'host', configType: 'env-file', offline: true }),
    target('scale/host', { at }),
    { files: renderedFiles(files) },
  );

const head = 'apiVersion: fleet-ferry/v1alpha1\nkind: HostPackage\nmetadata: {name: scale}\nspec:\n';

const assemble = (spec: string, more: Readonly<Record<string, string>> = {}, template = '') =>
  assembleHost(
    rendered(template === '' ? {} : { 'namespace.yaml': head + template }),
    {
      shown: 'apps/scale/',
      files: new Map(
        Object.entries({
          'package.yaml': head + spec,
          'scale.json': '{"line": 0, "a": {"b": [1]}, "none": null, "x/y": {"~": false}}',
          ...more,
        }).map(([path, text]) => [path, Buffer.from(text)]),
      ),
    },
    noAccess(),
  );

const refused = async (call: () => Promise<unknown>): Promise<string> => {
  try {
    await call();
  } catch (error) {
    if (error instanceof FleetError) return formatError(error);
    throw error;
  }
  return 'taken';
};

const FILE = '  files:\n  - {path: /etc/scale.json, source: scale.json, format: json}\n';
const input = (more: string) => `${FILE}  siteInputs:\n  - {name: line, file: /etc/scale.json, ${more}}\n`;

test('a check with "command" instead of "argv" is refused with that suggestion', async () => {
  const checks = '  checks:\n  - {name: runs, type: exec, command: [/bin/true]}\n';
  expect(await refused(() => assemble(FILE + checks))).toMatch(
    /UNKNOWN_FIELD: HostPackage: spec.checks\[0\] has no field "command". Did you mean argv\? It may have /,
  );
});

describe('a site input', () => {
  test.each([['/line'], ['/a'], ['/a/b/0'], ['/none'], ['/x~1y/~0']])(
    'may have %s of a JSON file as its place',
    async (pointer) => {
      const made = await assemble(input(`pointer: ${pointer}, schema: {type: integer}`));
      expect(made.siteInputs).toEqual([
        { input: 'line', file: '/etc/scale.json', pointer, schema: { type: 'integer' } },
      ]);
    },
  );

  test.each([
    [
      'a field of nothing',
      'pointer: /machine/line, schema: {}',
      'REFERENCE_MISSING: site input line goes to "/machine/line", and /etc/scale.json has no such field. Did you mean /line? Write it into the file with some value; the site puts in its own',
    ],
    ['a slip of the pen', 'pointer: /lin, schema: {}', 'has no such field. Did you mean /line?'],
    ['another letter case', 'pointer: /Line, schema: {}', 'has no such field. Did you mean /line?'],
    ['a slip further down', 'pointer: /x~1y/~1, schema: {}', 'Did you mean /x~1y/~0?'],
    ['a field that is not there', 'pointer: /a/new, schema: {}', 'has no such field. Write it into the file'],
    ['the whole document', 'pointer: /, schema: {}', 'REFERENCE_MISSING: site input line goes to "/"'],
    [
      'an item that is not there',
      'pointer: /a/b/1, schema: {}',
      'REFERENCE_MISSING: site input line goes to "/a/b/1"',
    ],
    [
      'a field of a number',
      'pointer: /line/x, schema: {}',
      'REFERENCE_MISSING: site input line goes to "/line/x"',
    ],
    [
      'a type that is none',
      'pointer: /line, schema: {type: intger}',
      'SCHEMA_INVALID: site input line has a schema that cannot be used',
    ],
    [
      'a keyword that is none',
      'pointer: /line, schema: {type: integer, minimun: 1}',
      'unknown keyword: "minimun"',
    ],
    [
      'a schema that nests deeper than a bundle config may',
      `pointer: /line, schema: ${'{not: '.repeat(61)}{}${'}'.repeat(61)}`,
      'SCHEMA_INVALID: site input line has a schema that cannot be used: bundle config nests deeper than 64 levels',
    ],
    ['a reference that leads nowhere', 'pointer: /line, schema: {$ref: "#/$defs/x"}', 'SCHEMA_INVALID'],
  ])('with %s is refused with its position', async (_, more, expected) => {
    const said = await refused(() => assemble(input(more)));
    expect(said).toContain(expected);
    expect(said).toMatch(/^apps\/scale\/package.yaml:8:5: /);
  });

  test('is refused when its file is missing, unreadable or has no format', async () => {
    const spec = input('pointer: /line, schema: {}');
    expect(await refused(() => assemble(spec, { 'scale.json': '{' }))).toContain(
      'FIELD_INVALID: site input line goes to a file that cannot be read',
    );
    expect(await refused(() => assemble(spec.replace(', format: json', '')))).toContain(
      'which has no format',
    );
    expect(
      await refused(() => assemble(spec.replace('path: /etc/scale.json', 'path: /etc/x.json'))),
    ).toContain('which is not a file of the package');
  });

  describe('a site input in an environment file', () => {
    const env = (pointer: string, text: string) =>
      refused(() =>
        assemble(input(`pointer: ${pointer}, schema: {}`).replace('format: json', 'format: env'), {
          'scale.json': text,
        }),
      );

    test.each([['LINE=\n'], ['A="1\n2"\n  LINE=0'], ['export LINE=0\n']])(
      'may have a variable of %j as its place',
      async (text) => {
        expect(await env('/LINE', text)).toBe('taken');
      },
    );

    test.each([
      ['/MY-LINE', 'LINE=1', 'FIELD_INVALID: site input line goes to "/MY-LINE", which is not a variable'],
      [
        '/LIN',
        'LINE=1',
        'REFERENCE_MISSING: site input line goes to "/LIN", and /etc/scale.json has no such variable. Did you mean /LINE?',
      ],
      ['/LINE', '', 'has no such variable. Write it into the file with some value'],
      ['/LINE', '# LINE=1\n', 'has no such variable. Write it'],
      ['/LINE', 'A="\nLINE=1\n"\n', 'has no such variable. Write it'],
      ['/LINE', 'LINE="1\n', 'FIELD_INVALID: site input line goes to a file that cannot be read: '],
    ])('is refused for %s of %j', async (pointer, text, expected) => {
      expect(await env(pointer, text)).toContain(expected);
    });
  });
});

describe('the paths of a host package', () => {
  const file = (path: string) => `  files:\n  - {path: ${path}, source: scale.json}\n`;

  test.each([
    [
      'two files at one path',
      `${file('/a')}  - {path: /a, content: x}\n`,
      'package.yaml:7:5: OBJECT_CLASH: /a is there twice in this package, first at apps/scale/package.yaml:6:5',
    ],
    [
      'two names of one file',
      `${file('/lib/a')}  - {path: /usr/lib/a, content: x}\n`,
      'package.yaml:7:5: OBJECT_CLASH: /usr/lib/a is the same on every host as /lib/a at apps/scale/package.yaml:6:5: both are /usr/lib/a',
    ],
    [
      'two names of one folder with two modes',
      '  directories:\n  - {path: /run/a}\n  - {path: /var/run/a, mode: "0700"}\n',
      'package.yaml:7:5: OBJECT_CLASH: /var/run/a is the same on every host as /run/a at apps/scale/package.yaml:6:5',
    ],
    [
      'a file below a file by another name',
      `${file('/sbin/a')}  - {path: /usr/sbin/a/b, content: x}\n`,
      'package.yaml:7:5: OBJECT_CLASH: /usr/sbin/a/b is below /usr/sbin/a, which is a file',
    ],
    [
      'a file where a folder is',
      `  directories: [{path: /a}]\n${file('/a')}`,
      'OBJECT_CLASH: /a is there twice',
    ],
    [
      'a file below a file',
      `${file('/a')}  - {path: /a/b, content: x}\n`,
      'OBJECT_CLASH: /a/b is below /a, which is a file',
    ],
    [
      'a folder below a file',
      `  directories: [{path: /a/b}]\n${file('/a')}`,
      'OBJECT_CLASH: /a/b is below /a',
    ],
    [
      'a file that is a unit’s',
      `${file('/etc/systemd/system/a.service')}  units: [{name: a.service, content: x}]\n`,
      'OBJECT_CLASH: /etc/systemd/system/a.service is there twice',
    ],
    [
      'one unit twice',
      `  units: [{name: a.service}, {name: a.service}]\n`,
      'OBJECT_CLASH: a.service is there twice',
    ],
    [
      'a restart on a file of nobody',
      `${file('/a')}  units: [{name: a.service, restartOn: [/b]}]\n`,
      'REFERENCE_MISSING: a.service restarts on /b, which is not a file of this package',
    ],
    [
      'a template that shall run',
      `  units: [{name: a@.service, content: x}]\n`,
      'package.yaml:5:11: FIELD_INVALID: HostPackage: a@.service is a template, of which systemd runs instances only',
    ],
    [
      'quadlets in one file, which Podman splits only when it installs them itself',
      file('/etc/containers/systemd/all.quadlets'),
      "FIELD_INVALID: HostPackage: Podman's systemd generator does not read /etc/containers/systemd/all.quadlets",
    ],
    [
      'an owner that is not an account',
      `  directories: [{path: /a, owner: "no; such"}]\n`,
      'FIELD_INVALID: HostPackage: spec.directories[0].owner "no; such" is not the name of a user or group',
    ],
    [
      'a path that no agent takes',
      file(`/${'a'.repeat(300)}`),
      'FIELD_INVALID: no agent would take this package',
    ],
  ])('are refused with %s', async (_, spec, expected) => {
    expect(await refused(() => assemble(spec))).toContain(expected);
  });

  test('a folder of template and application is one folder when equal, and OBJECT_CLASH when different', async () => {
    const folder = '  directories: [{path: /var/lib/scale, mode: "0750"}]\n';
    const made = await assemble(folder, {}, folder);
    const { directories } = JSON.parse(
      made.files.find(({ path }) => path === 'package.json')?.bytes.toString() ?? '',
    ) as {
      directories: unknown[];
    };
    expect(directories).toHaveLength(1);
    expect(await refused(() => assemble(folder.replace('0750', '0755'), {}, folder))).toContain(
      'OBJECT_CLASH: /var/lib/scale is there twice in this package, first at scale-host/namespace.yaml:5:17',
    );
  });
});

test("an application without a HostPackage is refused, although the platform's template has one", async () => {
  const slice = '  units: [{name: scale.slice}]\n';
  const said = await refused(() =>
    assemble('', { 'package.yaml': `${head.replace('kind', 'kidn')}  {}\n` }, slice),
  );
  expect(said).toBe(
    'workload.yaml:7:7: REFERENCE_MISSING: scale-host: deployment target scale-host runs on a host but apps/scale/ has no HostPackage. Write a package.yaml of kind HostPackage there.',
  );
});
