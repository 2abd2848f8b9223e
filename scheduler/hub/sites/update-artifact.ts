import {
  findReference,
  openOrStartLayout,
  withReference,
  writeLayoutIndex,
} from '#bundles/formats/layout/layout';
import { type NewDocument, writeArtifact } from '../../load/releases/artifact.ts';

/**
 * Writes documents as an artifact under a reference of the layout. Writing the same documents again changes no file. The layout
 * is a copy of the database, so the next run completes an interrupted one. The caller holds the layout's lock, because
 * index.json is read, changed and written.
 */
export const updateArtifact = async (
  directory: string,
  artifactType: string,
  reference: string,
  documents: readonly NewDocument[],
): Promise<'written' | 'unchanged'> => {
  const layout = await openOrStartLayout(directory);
  const descriptor = await writeArtifact(layout, artifactType, documents);
  if (findReference(layout, reference)?.digest === descriptor.digest) return 'unchanged';
  await writeLayoutIndex(layout, withReference(layout.manifests, reference, descriptor));
  return 'written';
};
