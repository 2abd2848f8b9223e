/** A cheap filter for files that may hold a CustomResourceDefinition; most files do not. */
export const mayDefineKinds = (bytes: Buffer): boolean => bytes.includes('CustomResourceDefinition');
