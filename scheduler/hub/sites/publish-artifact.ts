import { findReference, openOrStartLayout, withReference, writeLayoutIndex } from '#bundles/layout/layout';
import { type NewDocument, writeArtifact } from '../../publish/artifact.ts';

/**
 * Puts documents under a reference of the layout; the same documents once more change no file. The layout only mirrors
 * the database, so a run that was cut off between the two is mended by the next one. The caller holds the layout's lock:
 * index.json is read, changed and written.
 */
export const publishArtifact = async (
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
