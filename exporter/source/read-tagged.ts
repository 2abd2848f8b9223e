import { readArtifact } from '#bundles/formats/layout/artifact';
import type { OfferedDocument } from './offer.ts';
import type { Source } from './source.ts';

/** The documents of the artifact that a tag names; undefined when the tag does not exist. @throws FleetError of readArtifact */
export const readTagged = async (
  source: Source,
  repository: string,
  tag: string,
  artifactType: string | undefined,
): Promise<readonly OfferedDocument[] | undefined> => {
  const descriptor = await source.resolve(repository, tag);
  if (!descriptor) return undefined;
  const what = `${repository}:${tag}`;
  const documents = await readArtifact(source.blobs(repository), descriptor, { what, type: artifactType });
  return documents.map((document) => ({ document, repository }));
};
