import { type Digest, hexOf } from '#bundles/digest';

/**
 * How a cluster type's reconciler gets the application, by the name of its Template (docs/reconcilers.md): our agent and
 * Zarf receive the bundle, templates named *-oci pull it from the registry, all others fetch the application themselves.
 */
export const takesBundle = (reconciler: string): boolean =>
  reconciler === 'fleet' || reconciler === 'zarf' || pullsBundle(reconciler);

/**
 * Whether it follows the channel's tag `bundle`. Then reconciler.yaml configures that, and is not part of the bundle's
 * content.
 */
export const pullsBundle = (reconciler: string): boolean => reconciler.endsWith('-oci');

/** Whether our agent applies reconciler.yaml with the rest of the package. */
export const isPartOfPackage = (reconciler: string): boolean =>
  reconciler === 'fleet' || !takesBundle(reconciler);

/**
 * Labels that objects of Rancher Fleet have in a cluster's folder: the package that they deploy, and the namespace of its assignment. Rancher Fleet
 * gives them to its Bundles and BundleDeployments.
 */
export const DEPLOYED = { package: 'fleet-ferry/package', namespace: 'fleet-ferry/namespace' } as const;

/** Value of the first: a label has at most 63 characters. */
export const deployedPackage = (digest: Digest): string => hexOf(digest).slice(0, 32);

/** A playbook is a list of plays for Ansible, which an API server does not accept. */
export const isPlaybook = (text: string): boolean => /^(?:\s*(?:#.*|---\s*)?\n)*- /.test(text);
