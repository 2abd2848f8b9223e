/** A cheap filter for files that may hold a CustomResourceDefinition; most files do not. */
export const mayDefineKinds = (content: Buffer | string): boolean =>
  content.includes('CustomResourceDefinition');
