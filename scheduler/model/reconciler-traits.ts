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

/** A playbook is a list of plays for Ansible, which an API server does not accept. */
export const isPlaybook = (text: string): boolean => /^(?:\s*(?:#.*|---\s*)?\n)*- /.test(text);
