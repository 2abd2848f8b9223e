import { compareBytes } from '#bundles/digest';
import { bundleTag, imageTag } from '#bundles/transport/registry/references';
import type { RegistryAddress } from '#bundles/transport/registry/registry';
import type { PreparedPush } from './prepare-push.ts';

/** Name ('registry.example/app@sha256:...', 'prod/line:release') -> reference in the registry. */
export type References = Readonly<Record<string, string>>;

export const referencesOf = (
  { pointers, mirror }: Pick<PreparedPush, 'pointers' | 'mirror'>,
  { host, prefix }: RegistryAddress,
): References => {
  const at = (path: string): string => [host, prefix, path].filter(Boolean).join('/');
  const found: (readonly [string, string])[] = [];
  for (const { path, names, image } of mirror)
    for (const name of names) found.push([name, `${at(path)}:${imageTag(image.digest)}@${image.digest}`]);
  for (const { pointer, batch } of pointers) {
    const { repository, tag, artifact } = pointer;
    found.push([`${repository}:${tag}`, `${at(repository)}:${tag}@${artifact.digest}`]);
    for (const upload of batch?.stages.flat() ?? []) {
      const { digest } = upload.descriptor;
      if (upload.tag !== bundleTag(digest)) continue;
      found.push([`${repository}@${digest}`, `${at(repository)}:${upload.tag}@${digest}`]);
    }
  }
  return Object.fromEntries(found.toSorted(([a], [b]) => compareBytes(a, b)));
};
