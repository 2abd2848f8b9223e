import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { openTools } from '../../../scheduler/load/applications/tools/find-tool.ts';
import { renderKustomize } from '../../../scheduler/load/applications/render-kustomize.ts';
import { kubectlOf } from '../../harness/parts/kube.ts';
import { describeOnVersions } from '../../harness/run/describe-on-versions.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { temporaryDirectory, writeFiles } from '../../scheduler/file-tree.ts';
import {
  applicationFiles,
  applicationWorld,
  deployment,
  IMAGE,
  makeApplications,
} from './applications/application-world.ts';

const OVERLAY = {
  'kustomize/base/kustomization.yaml':
    'resources: [deployment.yaml]\nconfigMapGenerator: [{name: settings, files: [settings.txt]}]\n',
  'kustomize/base/deployment.yaml': deployment('web'),
  'kustomize/base/settings.txt': 'loud\n',
  'kustomize/overlays/prod/kustomization.yaml':
    'resources: [../../base]\nnamePrefix: prod-\nreplicas: [{name: web, count: 3}]\n',
};
const overlay = (files: Readonly<Record<string, string>> = {}) =>
  applicationFiles('{path: kustomize/overlays/prod}', { ...OVERLAY, ...files });

describeWith(['kustomize', 'kube'], 'a kustomization', (paths) => {
  const programs = [paths.kustomize];

  it('is built with the base beside it, each object with the file it came from', async () => {
    const directory = await applicationWorld(overlay());
    const { files, held, candidate } = await makeApplications(directory, programs);
    expect(held).toEqual([]);
    expect(Object.keys(files)).toEqual(['edge/base/deployment.yaml', 'edge/base/generated.yaml']);
    expect(files['edge/base/deployment.yaml']).toContain('name: prod-web');
    expect(files['edge/base/deployment.yaml']).toContain('replicas: 3');
    expect(files['edge/base/deployment.yaml']).toContain('namespace: prod-edge-shop-web');
    expect(files['edge/base/generated.yaml']).toContain('name: prod-settings-');
    expect(JSON.stringify(files)).not.toContain('origin');
    expect(candidate.tools).toContainEqual({ name: 'kustomize', version: 'v5.8.1' });
    const folders = candidate.sources.filter(({ role }) => role === 'application/shop-web');
    expect(folders.map(({ path }) => path)).toEqual(['kustomize/base', 'kustomize/overlays/prod']);
  });

  it('is built into the same objects with kubectl', async () => {
    const directory = await applicationWorld(overlay());
    const one = await makeApplications(directory, programs);
    const two = await makeApplications(directory, [kubectlOf(paths.kube)]);
    expect(two.held).toEqual([]);
    expect(two.files).toEqual(one.files);
  });

  it('has its images checked for pins, with the file that names them', async () => {
    const directory = await applicationWorld(
      overlay({ 'kustomize/base/deployment.yaml': deployment('web', 'nginx:1.27') }),
    );
    const { held } = await makeApplications(directory, programs);
    expect(held).toHaveLength(1);
    expect(held[0]).toMatch(
      /^apps\/shop\/kustomize\/base\/deployment\.yaml \(rendered\):\d+:\d+: IMAGE_UNPINNED/,
    );
  });

  it('is held without fetching a remote resource, which is named', async () => {
    for (const entry of [
      'https://example.com/base.yaml',
      'github.com/example/base?ref=v1',
      'git@example.com:a/b.git',
    ]) {
      const directory = await applicationWorld(
        overlay({
          'kustomize/overlays/prod/kustomization.yaml': `resources: ["${entry}"]\nnamePrefix: a-\n`,
        }),
      );
      const { held } = await makeApplications(directory, programs);
      expect(held.join()).toContain(
        `FIELD_INVALID: resources names ${entry}, which is outside of the repository`,
      );
    }
  });

  it('N10: what would be fetched from the loopback is not reached, found by name or not -> TEMPLATE_FAILED', async () => {
    await using server = await countingServer();
    const signal = new AbortController().signal;
    const tool = await openTools({ PATH: dirname(paths.kustomize) }, signal)('kustomize', 'shop-web');
    expect(tool.network).toBe('none');
    const text = `configMapGenerator: [{name: a, files: ["k=${server.url}/x"]}]\n`;
    const source = {
      kind: 'kustomize',
      folder: 'app',
      tree: new Map([['app/kustomization.yaml', Buffer.from(text)]]),
      shown: (path: string) => path,
    } as const;
    const built = renderKustomize(source, tool, { subject: 'shop-web' }, signal);
    await expect(built).rejects.toMatchObject({ code: 'TEMPLATE_FAILED' });
    expect(server.requests()).toBe(0);
    // The same without the namespace: the server would have been reached.
    const shared = { ...tool, network: 'shared', command: [paths.kustomize, 'build'] } as const;
    await renderKustomize(source, shared, { subject: 'shop-web' }, signal);
    expect(server.requests()).toBe(1);
  });

  it('is held when it reads outside of its folder or runs a plugin', async () => {
    const secret = await applicationWorld(
      overlay({
        'kustomize/overlays/prod/kustomization.yaml':
          'resources: [../../base]\nconfigMapGenerator: [{name: x, files: ["/etc/hostname"]}]\n',
      }),
    );
    expect((await makeApplications(secret, programs)).held.join()).toMatch(
      /TEMPLATE_FAILED.*kustomize could not/,
    );
    const plugin = await applicationWorld(
      overlay({
        'kustomize/overlays/prod/kustomization.yaml': 'resources: [../../base]\ntransformers: [run.yaml]\n',
        'kustomize/overlays/prod/run.yaml':
          'apiVersion: v1\nkind: Run\nmetadata:\n  name: run\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: ./run.sh}\n',
      }),
    );
    expect((await makeApplications(plugin, programs)).held.join()).toContain('TEMPLATE_FAILED');
  });

  it('is held with TOOL_MISSING without kustomize and kubectl', async () => {
    const directory = await applicationWorld(overlay());
    const { held } = await makeApplications(directory, []);
    expect(held.join()).toContain(
      'TOOL_MISSING: shop-web needs the program kustomize, which is not installed',
    );
  });
});

const countingServer = async () => {
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    response.end('text');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests: () => requests,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
};

const CHART = {
  'chart/Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.0.0\n',
  'chart/values.yaml': `image: ${IMAGE}\nreplicas: 1\n`,
  'chart/values-prod.yaml': 'replicas: 3\n',
  'chart/templates/web.yaml': `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  labels: {kube: "{{ .Capabilities.KubeVersion }}", level: "{{ .Values.LOG }}"}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: {{ .Values.image | quote }}}]
`,
  'chart/templates/tests/test.yaml':
    'apiVersion: v1\nkind: Pod\nmetadata: {name: t, annotations: {helm.sh/hook: test}}\nspec: {containers: []}\n',
  'chart/crds/crd.yaml':
    'apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: parts.example.com}\nspec:\n  group: example.com\n  scope: Namespaced\n  names: {kind: Part, plural: parts}\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n',
};
const chart = (
  manifests: string,
  files: Readonly<Record<string, string>> = {},
  types: readonly string[] = ['edge'],
) => applicationFiles(`{path: chart${manifests}}`, { ...CHART, ...files }, types);

describeOnVersions('helm', [], 'a chart of the repository', (paths) => {
  const programs = [paths.helm];

  it("is rendered with its values, the platform's configuration, release name and cluster version", async () => {
    const directory = await applicationWorld(chart(', values: [values-prod.yaml], valuesFrom: config'));
    const { files, held, candidate } = await makeApplications(directory, programs);
    expect(held).toEqual([]);
    expect(Object.keys(files)).toEqual(['edge/crds/crd.yaml', 'edge/templates/web.yaml']);
    const web = files['edge/templates/web.yaml'];
    expect(web).toContain('name: shop-web');
    expect(web).toContain('replicas: 3');
    expect(web).toContain('kube: "v1.31.0"');
    expect(web).toContain('level: "info"');
    expect(candidate.tools).toContainEqual({ name: 'helm', version: expect.stringMatching(/^v[34]/) });
  });

  it('has the same bytes each time and for each cluster type, except where it uses the namespace', async () => {
    const directory = await applicationWorld(
      chart('', { 'chart/templates/n.yaml': config('"{{ .Release.Namespace }}"') }, ['edge', 'line']),
    );
    const one = await makeApplications(directory, programs);
    const two = await makeApplications(directory, programs);
    expect(one.held).toEqual([]);
    expect(two.digests).toEqual(one.digests);
    expect(one.files['edge/templates/n.yaml']).toContain('value: "prod-edge-shop-web"');
    expect(one.files['line/templates/n.yaml']).toContain('value: "prod-line-shop-web"');
  });

  it('is held when it uses random values or the time', async () => {
    for (const made of [
      '{{ randAlphaNum 20 }}',
      '{{ now | date "2006-01-02" }}',
      '{{ now | unixEpoch }}',
      '{{ (genCA "x" 10).Cert | b64enc }}',
      '{{ uuidv4 }}',
    ]) {
      const directory = await applicationWorld(chart('', { 'chart/templates/v.yaml': config(`"${made}"`) }));
      const { held } = await makeApplications(directory, programs);
      expect(held.join(), made).toMatch(
        /^apps\/shop\/chart\/templates\/v\.yaml:5:\d+: TEMPLATE_FAILED: shop-web: the chart renders differently each time: "value" differs \(the chart calls (?:randAlphaNum|now|genCA|uuidv4)\)/,
      );
    }
  });

  it('has the kinds of crds/ and of its bundle in .Capabilities.APIVersions, and no others', async () => {
    const kind = (group: string, name: string): string =>
      `apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: ${name.toLowerCase()}s.${group}}\nspec:\n  group: ${group}\n  scope: Namespaced\n  names: {kind: ${name}, plural: ${name.toLowerCase()}s}\n  versions:\n    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n    - {name: v1alpha1, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}\n`;
    const has = (name: string): string => `{{ .Capabilities.APIVersions.Has "${name}" }}`;
    const asked = [
      'monitoring.example/v1',
      'monitoring.example/v1/ServiceMonitor',
      'monitoring.example/v1alpha1',
      'example.com/v1/Part',
      'apps/v1',
      'absent.example/v1',
    ];
    const directory = await applicationWorld({
      ...chart('', { 'chart/templates/v.yaml': config(`"${asked.map(has).join(' ')}"`) }),
      'platform/crds/monitors.yaml': kind('monitoring.example', 'ServiceMonitor'),
    });
    const { files, held } = await makeApplications(directory, programs);
    expect(held).toEqual([]);
    expect(files['edge/templates/v.yaml']).toContain('value: "true true false true true false"');
  });

  it('is rendered with a warning when it calls lookup, or keeps a hook that Helm would delete', async () => {
    const hook = (name: string, annotations: string): string =>
      `apiVersion: batch/v1\nkind: Job\nmetadata: {name: ${name}, annotations: {${annotations}}}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "${IMAGE}"}]}}}\n`;
    const directory = await applicationWorld(
      chart(', hooks: keep', {
        'chart/templates/v.yaml': config(
          '"{{ with (lookup "v1" "Secret" "default" "x") }}found{{ else }}none{{ end }}"',
        ),
        'chart/templates/_h.tpl':
          '{{/* lookup is only named */}}{{- define "x" }}{{ .Values.lookup }}{{ end }}\n',
        'chart/templates/a.yaml': hook(
          'kept',
          '"helm.sh/hook": "pre-upgrade", "helm.sh/hook-delete-policy": before-hook-creation',
        ),
        'chart/templates/b.yaml': hook(
          'gone',
          '"helm.sh/hook": "post-install", "helm.sh/hook-delete-policy": hook-succeeded',
        ),
        'chart/templates/c.yaml': hook('last', '"helm.sh/hook": "pre-delete"'),
      }),
    );
    const { files, held, advice } = await makeApplications(directory, programs);
    expect(held).toEqual([]);
    expect(files['edge/templates/v.yaml']).toContain('value: "none"');
    const frozen = advice.filter((line) => line.includes('CHART_FROZEN'));
    expect(frozen).toEqual([
      expect.stringMatching(
        /^apps\/shop\/chart\/templates\/v\.yaml:5:\d+: CHART_FROZEN: shop-web: the chart asks the cluster by lookup, and here that finds nothing/,
      ),
      expect.stringMatching(
        /^apps\/shop\/chart\/templates\/b\.yaml: CHART_FROZEN: shop-web: Job gone is a hook that Helm deletes afterwards \(hook-succeeded\)/,
      ),
      expect.stringMatching(
        /^apps\/shop\/chart\/templates\/c\.yaml: CHART_FROZEN: shop-web: Job last is a hook for pre-delete, and runs as soon as it is applied/,
      ),
    ]);
  });

  it('has annotations of the target on objects that its author cannot edit', async () => {
    const annotations = (rules: string): string => `, objectAnnotations: [${rules}]`;
    const directory = await applicationWorld(
      chart(
        annotations(
          '{target: {kind: Deployment, name: shop-web}, set: {fleet-ferry/wait: disabled}}, {target: {kind: CustomResourceDefinition, name: "*"}, set: {fleet-ferry/prune: disabled}}',
        ),
      ),
    );
    const { files, held } = await makeApplications(directory, programs);
    expect(held).toEqual([]);
    expect(files['edge/templates/web.yaml']).toMatch(/annotations:\s+fleet-ferry\/wait: disabled/);
    expect(files['edge/crds/crd.yaml']).toContain('fleet-ferry/prune: disabled');
    for (const [rules, says] of [
      [
        '{target: {kind: Deployment, name: web}, set: {fleet-ferry/wait: disabled}}',
        'REFERENCE_MISSING: shop-web: manifests: objectAnnotations names Deployment web, which the application does not have. Its objects of that kind are shop-web.',
      ],
      [
        '{target: {kind: Deployment, name: shop-web}, set: {fleet-ferry/prun: disabled}}',
        'FIELD_INVALID: shop-web: manifests: objectAnnotations[0] sets "fleet-ferry/prun", which is not an annotation for authors. Did you mean fleet-ferry/prune?',
      ],
      [
        '{target: {kind: Deployment, name: shop-web}, set: {fleet-ferry/prune: "no"}}',
        'objectAnnotations[0] sets fleet-ferry/prune to "no". It can be disabled or enabled.',
      ],
      [
        '{target: {kind: Deployment}, set: {}}',
        'objectAnnotations[0] needs a target with kind and name, and set',
      ],
      [
        '{targets: {kind: Deployment, name: a}, set: {fleet-ferry/prune: disabled}}',
        'objectAnnotations[0] has the unknown field targets',
      ],
    ] as const) {
      const wrong = await makeApplications(await applicationWorld(chart(annotations(rules))), programs);
      expect(wrong.held.join()).toContain(says);
    }
  });

  it('is rendered by the major version of Helm that lock file, candidate or last release names', async () => {
    const other = (version: string) => [{ name: 'helm', version }];
    const lock = (version: string): string =>
      `apiVersion: fleet-ferry/v1alpha1\nkind: ImagesLock\nmetadata: {name: images}\nspec: {images: {}, renderers: {helm: ${version}}}\n`;
    const directory = await applicationWorld(chart(''));
    const made = await makeApplications(directory, programs);
    const version = made.candidate.tools?.find(({ name }) => name === 'helm')?.version ?? '';
    const own = `v${/\d+/.exec(version)?.[0]}`;
    const last = async (tools: ReturnType<typeof other>) =>
      (await makeApplications(directory, programs, { lastTools: async () => tools })).held;
    expect(await last(other(`${own}.0.1`))).toEqual([]);
    expect(await last(other('(devel)'))).toEqual([]);
    expect(await last(other('v9.1.0'))).toEqual([
      expect.stringMatching(
        /RENDERER_DIFFERS: shop-web is rendered by helm v9\.1\.0 \(the last release\), and this machine has helm v\d.*\. Put helm v9 first on the PATH; or lock the new version with fleet-scheduler images lock --update\./,
      ),
    ]);
    await writeFiles(directory, { 'platform/images.lock.yaml': lock('v9') });
    expect(await last([])).toEqual([
      expect.stringContaining('is rendered by helm v9 (images.lock.yaml), and this machine has helm'),
    ]);
    await writeFiles(directory, { 'platform/images.lock.yaml': lock(own) });
    expect(await last(other('v9.1.0'))).toEqual([]);
    const now = await makeApplications(directory, programs);
    const document = { ...now.candidate, environment: 'qa', tools: other('v9.1.0') };
    const candidate = { document, digest: `sha256:${'c'.repeat(64)}` } as const;
    expect((await makeApplications(directory, programs, { candidate })).held).toEqual([
      expect.stringContaining(
        'is rendered by helm v9.1.0 (candidate sha256:cccccccccccc), and this machine has helm',
      ),
    ]);
    // A candidate of a version that does not say it pins nothing.
    const { tools: _, ...without } = document;
    const old = { ...candidate, document: without };
    expect((await makeApplications(directory, programs, { candidate: old })).held).toEqual([]);
  });

  it('is held for a whole number that Helm would round, unless it is text', async () => {
    const map = { 'chart/templates/v.yaml': config('{{ .Values.serial | quote }}') };
    const directory = await applicationWorld(
      chart(', values: [more.yaml]', { ...map, 'chart/more.yaml': 'a: b\nserial: 9007199254740993\n' }),
    );
    expect((await makeApplications(directory, programs)).held).toEqual([
      expect.stringMatching(
        /^apps\/shop\/chart\/more\.yaml:2:9: FIELD_INVALID: Helm would read 9007199254740993 as 9007199254740992: it has doubles only\. Put it in quotes\.$/,
      ),
    ]);
    await writeFiles(directory, {
      'apps/shop/chart/more.yaml': 'serial: "9007199254740993"\nexact: 9007199254740992\n',
    });
    const { files, held } = await makeApplications(directory, programs);
    expect(held).toEqual([]);
    expect(files['edge/templates/v.yaml']).toContain('value: "9007199254740993"');
  });

  it('may contain a random function that is not called', async () => {
    const directory = await applicationWorld(
      chart('', {
        'chart/templates/v.yaml': config(
          '"{{ if .Values.password }}x{{ else if .Values.no }}{{ randAlpha 9 }}{{ end }}"',
        ),
      }),
    );
    expect((await makeApplications(directory, programs)).held).toEqual([]);
  });

  it('is held, keeps or drops its hooks as the target sets', async () => {
    const hook = {
      'chart/templates/job.yaml':
        'apiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate, annotations: {"helm.sh/hook": pre-install}}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "' +
        IMAGE +
        '"}]}}}\n',
    };
    const refused = await makeApplications(await applicationWorld(chart('', hook)), programs);
    expect(refused.held.join()).toMatch(
      /templates\/job\.yaml: OBJECT_INVALID: .*Job migrate is a Helm hook \(pre-install\)/,
    );
    const kept = await makeApplications(await applicationWorld(chart(', hooks: keep', hook)), programs);
    expect(kept.files['edge/templates/job.yaml']).toContain('name: migrate');
    const dropped = await makeApplications(await applicationWorld(chart(', hooks: drop', hook)), programs);
    expect(dropped.held).toEqual([]);
    expect(Object.keys(dropped.files)).not.toContain('edge/templates/job.yaml');
  });

  it('that fails is held with template, line and reason', async () => {
    const directory = await applicationWorld(
      chart('', { 'chart/templates/z.yaml': '# here\n{{ required "a name is needed" .Values.name }}\n' }),
    );
    const { held } = await makeApplications(directory, programs);
    expect(held.join()).toMatch(
      /^apps\/shop\/chart\/templates\/z\.yaml:2:\d+: TEMPLATE_FAILED: shop-web: helm could not render it: a name is needed/,
    );
  });

  it('needs vendored dependencies, or is held with the command for that', async () => {
    const directory = await applicationWorld(
      chart('', {
        'chart/Chart.yaml':
          'apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: db, version: 1.0.0, repository: "https://charts.example"}]\n',
      }),
    );
    const { held } = await makeApplications(directory, programs);
    expect(held.join()).toMatch(
      /TEMPLATE_FAILED: .*missing in charts\/ directory: db.*helm dependency build/,
    );
    await writeFiles(directory, {
      'apps/shop/chart/charts/db/Chart.yaml': 'apiVersion: v2\nname: db\nversion: 1.0.0\n',
      'apps/shop/chart/charts/db/templates/db.yaml': config('"db"'),
    });
    const { files, held: now } = await makeApplications(directory, programs);
    expect(now).toEqual([]);
    expect(files['edge/charts/db/templates/db.yaml']).toContain('value: "db"');
    const charts = join(directory, 'apps/shop/chart/charts');
    await runOrFail([paths.helm, 'package', join(charts, 'db'), '--destination', charts]);
    await rm(join(charts, 'db'), { recursive: true });
    const packed = await makeApplications(directory, programs);
    expect(packed.held).toEqual([]);
    expect(packed.files).toEqual(files);
  });

  it('N11: is held with a packed dependency whose schema of values is on the disk -> FIELD_INVALID', async () => {
    const directory = await applicationWorld(chart(''));
    const charts = join(directory, 'apps/shop/chart/charts');
    await writeFiles(directory, {
      'schema.json': '{}',
      'db/Chart.yaml': 'apiVersion: v2\nname: db\nversion: 1.0.0\n',
      'db/values.schema.json': JSON.stringify({ $ref: `file://${join(directory, 'schema.json')}` }),
    });
    await runOrFail([paths.helm, 'package', join(directory, 'db'), '--destination', charts]);
    const { held } = await makeApplications(directory, programs);
    expect(held.join()).toMatch(
      /^apps\/shop\/chart\/charts\/db-1\.0\.0\.tgz\/values\.schema\.json: FIELD_INVALID: \$ref refers to /,
    );
  });

  it('is held with TOOL_MISSING without helm', async () => {
    const directory = await applicationWorld(chart(''));
    const { held } = await makeApplications(directory, [join(await temporaryDirectory(), 'helm')]);
    expect(held.join()).toContain('TOOL_MISSING: shop-web needs the program helm, which is not installed');
  });
});

const config = (value: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made}\ndata:\n  value: ${value}\n`;
