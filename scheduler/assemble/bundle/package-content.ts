import type { BundleAssignment } from '#bundles/formats/bundle/config';
import { type HostPackage, parseHostPackage } from '#bundles/formats/bundle/host-package';
import { readKubernetesObjects } from '../../model/kubernetes/kubernetes-object.ts';
import { MANIFESTS } from './assemble-kubernetes.ts';
import { identityOf } from './prepare-manifest.ts';

type Files = ReadonlyMap<string, Buffer>;
type Item = Pick<BundleAssignment, 'namespace' | 'bounds'>;

/**
 * The content that an application brings in a package, by the file of the package: objects ('Deployment.apps shop/web') or what a host has of it
 * ('file /etc/x.conf', 'unit x.service'). What the platform's templates add (namespace, configuration) is not content.
 */
export const packageContent = (
  kind: 'kubernetes' | 'host',
  files: Files,
  assignment: Item,
): ReadonlyMap<string, readonly string[]> =>
  kind === 'host' ? hostContent(files, assignment) : kubernetesContent(files, assignment);

const kubernetesContent = (files: Files, { namespace = '' }: Item): ReadonlyMap<string, readonly string[]> =>
  new Map(
    [...files]
      .filter(([path]) => path.startsWith(MANIFESTS))
      .map(([path, bytes]) => [
        path,
        readKubernetesObjects(path, bytes, []).map((object) => identityOf(object, namespace)),
      ]),
  );

const DOCUMENT = 'package.json';

const hostContent = (files: Files, { bounds }: Item): ReadonlyMap<string, readonly string[]> => {
  const document = files.get(DOCUMENT);
  if (!document) return new Map();
  const platform = new Set(bounds?.platform);
  const items = itemsOf(parseHostPackage(document));
  return new Map([
    [DOCUMENT, items.flatMap(([what, name]) => (platform.has(name) ? [] : [`${what} ${name}`]))],
  ]);
};

const itemsOf = ({ directories, files, secrets, units, playbooks, install }: HostPackage) => [
  ...[...directories, ...files, ...(secrets ?? [])].map(({ path }) => ['file', path] as const),
  ...units.map(({ name }) => ['unit', name] as const),
  ...(playbooks ?? []).map(({ name }) => ['playbook', name] as const),
  ...(install?.packages ?? []).map(({ name }) => ['Debian package', name] as const),
];
