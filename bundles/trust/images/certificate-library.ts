/** The part of sigstore's verifier that we use, which the bundled agent has in a file of its own (rolldown.config.ts). */
export { toSignedEntity, toTrustMaterial, VerificationError, Verifier } from '@sigstore/verify';
