import type { BlobSource } from '../layout/blobs.ts';
import type { Layout } from '../layout/layout.ts';

/** What is published from: a layout, or a medium that is seen as one. */
export type Offering = Pick<Layout, 'directory' | 'manifests'> & { readonly blobs: BlobSource };
