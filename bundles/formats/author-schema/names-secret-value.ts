/** Whether a site value of this name may hold a secret, although secret sets are for those. */
export const namesSecretValue = (name: string): boolean => SECRET_NAME.test(name);

const SECRET_NAME =
  /passw|passphrase|pwd|secret|token|credential|cookie|psk$|(^|[^a-z])(key|pin)s?$|[a-z]Key$/i;
