/** The secret of the callback URLs of a test. */
export const secret = "0123456789abcdef0123456789abcdef";
/** The address of the receiver of a test. */
export const url = "https://app.example/webhooks/reports";
