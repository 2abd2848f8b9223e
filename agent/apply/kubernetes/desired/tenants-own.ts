/**
 * Whether a file of a tenant's package is the tenant's own. Everything outside of this folder comes from templates of the platform
 * (docs/bundle-format.md section 4).
 * @param place path in the package, or a place that begins with it (WantedObject)
 */
export const isTenantsOwn = (place: string): boolean => place.startsWith('manifests/');
