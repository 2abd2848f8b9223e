import { conditionOf } from './condition.ts';

/** True if the server accepts objects of this CustomResourceDefinition. */
export const isEstablished = (crd: unknown): boolean => conditionOf(crd, 'Established')?.status === 'True';
