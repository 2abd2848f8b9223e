import { posix } from 'node:path';
import { isMap, parseAllDocuments } from 'yaml';
import { compareBytes } from '#bundles/digest';
import { type Bound, checkYaml } from '../../model/limits.ts';
import { findKustomization } from '../sources/kustomization-file.ts';
import type { Application } from './application.ts';
import type { KustomizeSource } from './application-source.ts';
import { kustomizeFailed } from './kustomize-faults.ts';
import { runTool } from './tools/run-tool.ts';
import type { Tool } from './tools/tool.ts';
import { workFolder } from './tools/work-folder.ts';

const ORIGIN = 'config.kubernetes.io/origin';

/** An outer kustomization, whose origin annotations give each object's source file. No file of the tree has this name. */
const OUTER = '.fleet-ferry';

/**
 * Runs `kustomize build`. Returns the objects by the file they came from. Kustomize's default load restriction applies, and
 * it has no plugins and no network.
 * @throws FleetError TEMPLATE_FAILED, TEMPLATE_LIMIT, WORKSPACE_LIMIT, ABORTED
 */
export const renderKustomize = async (
  { folder, tree, shown }: KustomizeSource,
  tool: Tool,
  { subject, bound }: { readonly subject: string; readonly bound?: Bound | undefined },
  signal: AbortSignal,
): Promise<Application> => {
  const outer = [
    'apiVersion: kustomize.config.k8s.io/v1beta1',
    'kind: Kustomization',
    `resources: [${JSON.stringify(posix.join('..', folder))}]`,
    'buildMetadata: [originAnnotations]',
    '',
  ].join('\n');
  await using work = await workFolder([...tree, [`${OUTER}/kustomization.yaml`, Buffer.from(outer)]]);
  const { code, out, errors } = await runTool({
    tool,
    args: [OUTER],
    cwd: work.files,
    home: work.home,
    signal,
  });
  if (code === 0 && bound) checkYaml(bound, [out], 'what kustomize makes');
  if (code !== 0) {
    const said = errors.replaceAll(`${work.files}/`, '').replaceAll(work.files, '.');
    throw kustomizeFailed(said, tree, shown, subject);
  }
  const top = commonFolder([folder, ...[...tree.keys()].map((file) => posix.dirname(file))]);
  return {
    shown: shown(findKustomization(tree, folder) ?? folder),
    files: byOrigin(out.toString('utf8'), top),
    madeFrom: (path) => shown(posix.join(top, path)),
  };
};

/** The deepest common folder, so that the bundle does not contain the path of the application in its repository. */
const commonFolder = (folders: readonly string[]): string => {
  const parts = folders.map((one) => (one === '.' ? [] : one.split('/')));
  const [first = []] = parts;
  const differs = first.findIndex((name, at) => parts.some((other) => other[at] !== name));
  return first.slice(0, differs === -1 ? first.length : differs).join('/') || '.';
};

const byOrigin = (text: string, top: string): ReadonlyMap<string, Buffer> => {
  const files = new Map<string, string[]>();
  const parsed = parseAllDocuments(text, { intAsBigInt: true, prettyErrors: false });
  for (const document of Array.isArray(parsed) ? parsed : []) {
    const origin: unknown = document.getIn(['metadata', 'annotations', ORIGIN]);
    document.deleteIn(['metadata', 'annotations', ORIGIN]);
    const annotations = document.getIn(['metadata', 'annotations']);
    if (isMap(annotations) && annotations.items.length === 0) document.deleteIn(['metadata', 'annotations']);
    const file = posix.relative(top, fileOf(typeof origin === 'string' ? origin : ''));
    const texts = files.get(file) ?? [];
    texts.push(document.toString({ lineWidth: 0 }).replace(/^---\n/, ''));
    files.set(file, texts);
  }
  return new Map(
    [...files]
      .toSorted(([a], [b]) => compareBytes(a, b))
      .map(([file, texts]) => [file, Buffer.from(texts.join('---\n'))]),
  );
};

/** 'path: ../base/deployment.yaml', or 'configuredIn: ../base/kustomization.yaml' for generated objects. */
const fileOf = (origin: string): string => {
  const path = /^path: (.+)$/m.exec(origin)?.[1];
  if (path !== undefined) return posix.join(OUTER, path);
  const by = /^configuredIn: (.+)$/m.exec(origin)?.[1];
  return posix.join(OUTER, by === undefined ? '..' : posix.dirname(by), 'generated.yaml');
};
