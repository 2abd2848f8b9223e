import { describe, expect, test } from 'vitest';
import { formatError } from '../../../bundles/errors.ts';
import { builtInTemplates } from '../../../scheduler/load/platform/built-in-templates.ts';
import type { Platform, Value } from '../../../scheduler/model/model.ts';
import { joinRenders } from '../../../scheduler/render/remember-renders.ts';
import type { CachedRender } from '../../../scheduler/model/template-context.ts';
import { renderPlatform } from '../../../scheduler/render/render-platform.ts';
import { schedulePlatform } from '../../../scheduler/plan/schedule/schedule-platform.ts';
import { clusterType, layer, platform, policy, schema, target, template } from '../model-objects.ts';

const templates = (...all: ReturnType<typeof template>[]): Platform['templates'] =>
  new Map([...platform().templates.values(), ...all].map((one) => [one.name, one]));

const base = {
  clusterTypes: [clusterType('edge')],
  targets: [target('shop/web')],
  policies: [policy('all')],
};
const render = (more: Partial<Platform>) => {
  const whole = platform({ ...base, ...more });
  const { packages, held } = renderPlatform(whole, schedulePlatform(whole));
  return {
    packages,
    files: packages.map(({ files }) => Object.fromEntries(files.map(({ path, text }) => [path, text]))),
    held: held.map(({ error }) => formatError(error)),
  };
};

test('a package has a namespace, a configuration and a reconciler file', () => {
  const { files, packages } = render({ configs: [layer('x', { values: { a: 'b' } })] });
  expect(files).toEqual([
    {
      'namespace.yaml': 'name: dev-edge-shop-web\n',
      'platform-config.yaml': 'a: b\n',
      'reconciler.yaml': 'target: shop-web\n',
    },
  ]);
  expect(packages[0]).toMatchObject({ namespace: 'dev-edge-shop-web', configData: { a: 'b' } });
  expect(packages[0]?.files.map(({ path }) => path)).toEqual([
    'namespace.yaml',
    'platform-config.yaml',
    'reconciler.yaml',
  ]);
});

test('a target has the namespace that it names, where its registration allows it', () => {
  const named = { ...target('shop/web'), namespace: 'shop' };
  const bounded = (namespaces: readonly string[]) => ({
    ...named,
    registration: 'shop',
    bounds: { clusterScoped: [], namespaces },
  });
  expect(render({ targets: [named] }).packages[0]?.namespace).toBe('shop');
  expect(render({ targets: [bounded(['shop'])] }).packages[0]?.namespace).toBe('shop');
  expect(render({ targets: [bounded(['*'])] }).packages[0]?.namespace).toBe('shop');
  expect(render({ targets: [bounded(['other'])] }).held).toEqual([
    expect.stringContaining(
      'NAMESPACE_FOREIGN: shop-web: the namespace shop is not one that its registration allows. Leave namespace out, or have it allowed: fleet-ferry/allow-namespaces: shop',
    ),
  ]);
});

test('manifests are joined by --- on its own line, without empty ones', () => {
  const plain = (text: string): CachedRender => ({ pieces: [text], holes: [], isEmpty: text === '' });
  const joined = joinRenders(['a\n', '', 'b', ' ', 'c'].map(plain));
  expect(joined).toEqual(plain('a\n---\nb\n---\n \n---\nc'));
  expect(joinRenders([])).toEqual(plain(''));
});

test("Kalypso's form writes an empty namespace and reconciler but no empty configuration; the fleet form writes none of them", () => {
  const empty = templates(
    template('ns', 'namespace'),
    template('rec', 'reconciler', ''),
    template('cfg', 'config', ''),
  );
  expect(render({ templates: empty }).files).toEqual([{ 'namespace.yaml': '', 'reconciler.yaml': '' }]);
  expect(render({ templates: empty, form: 'fleet' }).files).toEqual([{}]);
});

test.for([
  ['kalypso', 'sh', 'platform-config.sh'],
  ['kalypso', 'env', 'platform-config.yaml'],
  ['kalypso', undefined, 'platform-config.yaml'],
  ['fleet', 'env', 'platform-config.env'],
  ['fleet', undefined, 'platform-config.yaml'],
] as const)('in the %s form a configuration of type %s is %s', ([form, contentType, path]) => {
  const { files } = render({
    form,
    templates: templates({ ...template('cfg', 'config', 'x'), contentType }),
  });
  expect(Object.keys(files[0] ?? {})).toContain(path);
});

describe('an error in one assignment holds that one only', () => {
  const types = [
    clusterType('broken', { reconciler: 'bad' }),
    clusterType('edge'),
    clusterType('failing', { configType: 'fails' }),
    clusterType('missing', { namespaceService: 'nowhere' }),
  ];

  test('for a template with a syntax error, a failing or a missing one', () => {
    const { packages, held } = render({
      clusterTypes: types,
      templates: templates(
        template('bad', 'reconciler', 'ok\n', '{{ if }}'),
        template('fails', 'config', '{{ .Nope }}'),
      ),
    });
    expect(packages.map(({ assignment }) => assignment.clusterType.name)).toEqual(['edge']);
    expect(held).toEqual([
      expect.stringMatching(/^templates\/bad.yaml:1:\d+: TEMPLATE_SYNTAX: Template bad: /),
      expect.stringMatching(/^templates\/fails.yaml:1:\d+: TEMPLATE_FAILED: Template fails: /),
      'platform/missing.yaml:1:1: REFERENCE_MISSING: ClusterType missing: there is no Template nowhere, which namespaceService names. Write that Template, or name another one.',
    ]);
  });

  test('for a configuration that violates a schema', () => {
    const { packages, held } = render({
      clusterTypes: [clusterType('edge'), clusterType('press', { labels: { strict: 'yes' } })],
      schemas: [schema('s', { required: ['url'] }, { strict: 'yes' })],
    });
    expect(packages.map(({ assignment }) => assignment.clusterType.name)).toEqual(['edge']);
    expect(held).toEqual([
      's.yaml:5:3: CONFIG_SCHEMA: press/shop-web: url is missing (schema s). Set it in a Config that selects this assignment, or change the schema.',
    ]);
  });

  test('in the fleet form for a template of another type, and for a namespace that is too long', () => {
    const wrong = [clusterType('a', { configType: 'ns' }), clusterType('b'.repeat(60))];
    expect(render({ clusterTypes: wrong }).held).toEqual([]);
    expect(render({ clusterTypes: wrong, form: 'fleet' }).held).toEqual([
      expect.stringMatching(
        /FIELD_INVALID: ClusterType a: Template ns is of type namespace, and configType wants config/,
      ),
      expect.stringMatching(
        /NAME_INVALID: b+\/shop-web: the namespace dev-b+-shop-web is longer than the 63/,
      ),
    ]);
  });

  test('includes assignments that the schedule held', () => {
    const { held } = render({ targets: [target('a/b-c'), target('a-b/c')] });
    expect(held).toEqual([expect.stringMatching(/NAME_CLASH/), expect.stringMatching(/NAME_CLASH/)]);
  });
});

test('values are not rendered as templates, and templates do not see the environment of the process', () => {
  const { files } = render({
    configs: [layer('x', { values: { a: '{{ .ClusterType }}' } })],
    targets: [target('shop/web', { manifests: { path: '{{ env "HOME" }}' } })],
    templates: templates(template('rec', 'reconciler', '{{ .Manifests.path }}')),
  });
  expect(files[0]).toMatchObject({
    'platform-config.yaml': "a: '{{ .ClusterType }}'\n",
    'reconciler.yaml': '{{ env "HOME" }}',
  });
});

test('the same platform renders to the same bytes, in any order of its objects', () => {
  const whole = (reverse: boolean): Partial<Platform> => {
    const order = <T>(items: readonly T[]): readonly T[] => (reverse ? items.toReversed() : items);
    return {
      targets: [target('shop/api'), target('shop/web')],
      configs: [
        layer('x', {
          values: Object.fromEntries(
            order([
              ['a', 1],
              ['b', { c: 1, d: 2 }],
              ['e', 2],
            ]),
          ) as Record<string, Value>,
        }),
      ],
    };
  };
  expect(render(whole(true)).files).toEqual(render(whole(false)).files);
});

describe('built-in templates', () => {
  const builtIn = new Map(builtInTemplates().map((one) => [one.name, one]));
  const values = {
    PORT: 8080,
    RATE: 1.5,
    ON: true,
    NONE: null,
    TEXT: 'a "b" $c `d` \\ e\nf',
    DEEP: { list: [1, 'x'] },
  };
  const own = (more: Parameters<typeof clusterType>[1], config: Record<string, Value> = values) =>
    render({
      form: 'fleet',
      templates: builtIn,
      clusterTypes: [clusterType('edge', { reconciler: 'fleet', ...more })],
      configs: [layer('x', { values: config })],
    });

  test('configmap and namespace are valid for Kubernetes: every value is text', () => {
    const { files, held } = own({ namespaceService: 'namespace', configType: 'configmap' });
    expect(held).toEqual([]);
    expect(files).toEqual([
      {
        'namespace.yaml': `apiVersion: v1
kind: Namespace
metadata:
  name: dev-edge-shop-web
  labels:
    fleet-ferry/environment: "dev"
    fleet-ferry/workspace: "team"
    fleet-ferry/workload: "shop"
    fleet-ferry/deployment-target: "shop-web"
`,
        'platform-config.yaml': `apiVersion: v1
kind: ConfigMap
metadata:
  name: platform-config
  namespace: dev-edge-shop-web
data:
  "DEEP": "list:\\n    - 1\\n    - x"
  "NONE": ""
  "ON": "true"
  "PORT": "8080"
  "RATE": "1.5"
  "TEXT": "a \\"b\\" $c \`d\` \\\\ e\\nf"
`,
      },
    ]);
  });

  test('env-file is readable for systemd and a shell', () => {
    const { files, held } = own({ target: 'host', namespaceService: 'none', configType: 'env-file' });
    expect(held).toEqual([]);
    expect(files).toEqual([
      {
        'platform-config.env': `DEEP="{\\"list\\":[1,\\"x\\"]}"
NONE=""
ON="true"
PORT="8080"
RATE="1.5"
TEXT="a \\"b\\" \\$c \\\`d\\\` \\\\ e
f"
`,
      },
    ]);
  });

  test('a key that is not a variable name holds the assignment, and is named', () => {
    const { held } = own(
      { target: 'host', namespaceService: 'none', configType: 'env-file' },
      { 'historian.password': 'x' },
    );
    expect(held).toEqual([
      expect.stringMatching(
        /^built-in env-file.yaml:.*TEMPLATE_FAILED.*the configuration key historian.password is no name/,
      ),
    ]);
  });

  test('an empty configuration has no file', () => {
    expect(own({ namespaceService: 'none', configType: 'configmap' }, {}).files).toEqual([{}]);
    expect(own({ namespaceService: 'none', configType: 'env-file' }, {}).files).toEqual([{}]);
  });
});
